"""What most serialized messages have in common: the dictionary bodies are compressed with.

Raw content, as msgpack of messages without their text. Part of the format: a changed byte makes
stored bodies unreadable, so another dictionary is another constant under another format number.
"""

MESSAGES = (
    b"\xc7\x8b\x05\x94\xd9 langchain_core.messages.modifier\xadRemoveMessage\x86\xa7content\xa0"
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa6remove\xa4name\xc0\xa2id\xa0"
    b"\xb3model_validate_json\xc7\x8d\x05\x94\xbdlangchain_core.documents.base\xa8Document\x84"
    b"\xa2id\xc0\xa8metadata\x83\xa6source\xa8https://\xa5title\xa0\xa5score\xcb?\xe0\x00\x00\x00"
    b"\x00\x00\x00\xacpage_content\xa0\xa4type\xa8Document\xb3model_validate_json\xc8\x03}\x05"
    b"\x94\xbelangchain_core.messages.system\xadSystemMessage\x86\xa7content\xda\x02\xf3The quick"
    b" answer is that it depends on what you would like to do with the resul"
    b"ts. I have found the following information for you, and here is a summ"
    b"ary of what was there. Please let me know whether you want me to conti"
    b"nue with the next step, or if there is anything else that I should loo"
    b"k at first. You are a helpful assistant. Use the tools that are availa"
    b"ble when they are needed, and say so when you do not know. Could you t"
    b"ell me more about how this works, and what are the most important thin"
    b"gs to keep in mind? There was an error while the request was being pro"
    b"cessed; it could not be completed because the resource was not found. "
    b"In the first place, the number of people who have been using their own"
    b" time for this has grown over the last years. \xb1additional_kwargs\x80\xb1resp"
    b"onse_metadata\x80\xa4type\xa6system\xa4name\xc0\xa2id\xa0\xb3model_validate_json\xc8\x01"
    b'\xbb\x05\x94\xbclangchain_core.messages.tool\xabToolMessage\x89\xa7content\xda\x01\x04{"re'
    b'sults": [{"title": "", "url": "https://www.", "content": "", "score": '
    b'0.9, "id": 1, "name": "", "description": "", "status": "ok", "created_'
    b'at": "2026-01-01T00:00:00+00:00", "error": null, "count": 0, "true": t'
    b'rue, "false": false}]}\n```json\n```python\n\n- **\xb1additional_kwargs\x80\xb1resp'
    b"onse_metadata\x80\xa4type\xa4tool\xa4name\xa6search\xa2id\xa0\xactool_call_id\xa8toolu_01"
    b"\xa8artifact\xc0\xa6status\xa5error\xb3model_validate_json\xc8\x02\x03\x05\x94\xbalangchain"
    b"_core.messages.ai\xa9AIMessage\x89\xa7content\x92\x82\xa4type\xa4text\xa4text\xa0\x84\xa4ty"
    b"pe\xa8tool_use\xa2id\xa8toolu_01\xa4name\xa0\xa5input\x81\xa5query\xa0\xb1additional_kwargs"
    b"\x80\xb1response_metadata\x86\xa2id\xa6msg_01\xa5model\xa7claude-\xabstop_reason\xa8tool_us"
    b"e\xadstop_sequence\xc0\xaemodel_provider\xa9anthropic\xa5usage\x84\xbbcache_creation_input_"
    b"tokens\x00\xb7cache_read_input_tokens\x00\xacinput_tokens\xcd\x03\xe8\xadoutput_tokensd\xa4"
    b"type\xa2ai\xa4name\xc0\xa2id\xa8lc_run--\xaatool_calls\x91\x84\xa4name\xa0\xa4args\x81\xa5q"
    b"uery\xa0\xa2id\xa8toolu_01\xa4type\xa9tool_call\xb2invalid_tool_calls\x90\xaeusage_metadata"
    b"\x83\xacinput_tokens\xcd\x03\xe8\xadoutput_tokensd\xactotal_tokens\xcd\x04L\xb3model_valida"
    b"te_json\xc7\xae\x05\x94\xbclangchain_core.messages.tool\xabToolMessage\x89\xa7content\xa0"
    b"\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa4tool\xa4name\xa0\xa2id\xa0"
    b"\xactool_call_id\xa5call_\xa8artifact\xc0\xa6status\xa7success\xb3model_validate_json\xc7"
    b"\x85\x05\x94\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content\xa0\xb1additio"
    b"nal_kwargs\x80\xb1response_metadata\x80\xa4type\xa5human\xa4name\xc0\xa2id\xa0\xb3model_val"
    b"idate_json\xc7\x85\x05\x94\xbdlangchain_core.messages.human\xacHumanMessage\x86\xa7content"
    b"\xa0\xb1additional_kwargs\x80\xb1response_metadata\x80\xa4type\xa5human\xa4name\xc0\xa2id"
    b"\xc0\xb3model_validate_json\xc8\x02\xd3\x05\x94\xbalangchain_core.messages.ai\xa9AIMessage"
    b"\x89\xa7content\xa0\xb1additional_kwargs\x81\xa7refusal\xc0\xb1response_metadata\x87\xabtok"
    b"en_usage\x85\xb1completion_tokensd\xadprompt_tokens\xcd\x03\xe8\xactotal_tokens\xcd\x04L"
    b"\xb9completion_tokens_details\x84\xbaaccepted_prediction_tokens\x00\xacaudio_tokens\x00\xb0"
    b"reasoning_tokens\x00\xbarejected_prediction_tokens\x00\xb5prompt_tokens_details\x82\xaca"
    b"udio_tokens\x00\xadcached_tokens\x00\xaemodel_provider\xa6openai\xaamodel_name\xa4gpt-\xb2s"
    b"ystem_fingerprint\xa3fp_\xacservice_tier\xa7default\xadfinish_reason\xaatool_calls\xa8lo"
    b"gprobs\xc0\xa4type\xa2ai\xa4name\xc0\xa2id\xa9chatcmpl-\xaatool_calls\x91\x84\xa4name\xa6se"
    b"arch\xa4args\x82\xa5query\xa0\xa5limit\x05\xa2id\xa5call_\xa4type\xa9tool_call\xb2invalid_t"
    b"ool_calls\x90\xaeusage_metadata\x85\xacinput_tokens\xcd\x03\xe8\xadoutput_tokensd\xactotal_"
    b"tokens\xcd\x04L\xb3input_token_details\x82\xa5audio\x00\xaacache_read\x00\xb4output_token_d"
    b"etails\x82\xa5audio\x00\xa9reasoning\x00\xb3model_validate_json\xc7\xf2\x05\x94\xbalangchai"
    b"n_core.messages.ai\xa9AIMessage\x89\xa7content\xa0\xb1additional_kwargs\x80\xb1response_met"
    b"adata\x81\xadfinish_reason\xa4stop\xa4type\xa2ai\xa4name\xc0\xa2id\xa4run-\xaatool_calls"
    b"\x90\xb2invalid_tool_calls\x90\xaeusage_metadata\x83\xacinput_tokens\xcd\x03\xe8\xadoutput_"
    b"tokensd\xactotal_tokens\xcd\x04L\xb3model_validate_json"
)
