"""What most serialized messages have in common: the dictionary bodies are compressed with.

Content is msgpack of messages without their text. Before it stand the tables that English prose,
JSON and code are well packed with, so that a frame need not bring its own: they are a fifth of a
short frame, and half the time to read it. Part of the format: a changed byte makes stored bodies
unreadable, so another dictionary is another constant under another format number.
"""

# A zstd dictionary's head, trained on messages that hold this project's pages and code.
TABLES = (
    b"\x37\xa4\x30\xec\x55\xee\x7d\x4c\x42\x10\xa8\xa2\xda\x1c\x30\x33\xb3\x62\x67\x19\x55\x55"
    b"\x55\x55\xe5\x66\x65\x78\x90\xba\x1b\x91\x12\xbd\x45\xae\xac\xca\xee\x9d\x42\x4c\xee\xdf"
    b"\x3e\xbe\xe3\xb7\xed\x02\xe5\x6b\x1f\x93\x2a\x9a\xab\x92\x2a\xd7\xff\xcd\xa6\xbd\x67\x6c"
    b"\x67\x87\xaa\x61\x77\x64\xd1\x10\x01\x73\x00\x00\x10\x10\x0c\x88\x84\x42\xd9\xc4\xe4\x0b"
    b"\x00\x04\x60\x51\xd6\xce\x47\xeb\x93\x81\x12\xc3\x28\x0a\x62\x90\x21\x06\x18\x00\x00\x00"
    b"\x00\x00\x00\x0c\x01\x40\xc4\x86\x30\x00\x00\x00\xd4\xcf\xa8\xe5\xe9\x48\x8d\x72\x4c\x21"
    b"\x63\x08\x18\x02\x90\x00\x00\x00\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x08\x00\x00"
    b"\x00"
)

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
