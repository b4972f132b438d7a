"""The keys of ``langgraph.json``: what each means here, or why it is not honoured.

Source: the keys are LangGraph's own, as langgraph-cli 0.4 reads them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from threadkeep.config.sections import ENV_PREFIX

Standing = Literal["served", "image", "later", "refused"]


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        standing: ``served``: honoured. ``image``: matters only when an image is built, accepted in
            silence. ``later``: accepted, named in one warning. ``refused``: an error when set,
            because going on without it would mislead.
        says: What it does when served; else what does not happen.
        remedy: What to do about a refused one.
        holds: The value is an object whose keys stand in this table too.
        word: What may stand in the place of that object.
    """

    standing: Standing
    says: str
    remedy: str = ""
    holds: bool = False
    word: str | None = None


def _disabled(group: str) -> Key:
    return Key("served", f"Whether the {group} routes answer 404 (false).")


_IMAGE = Key("image", "Used when an image is built.")
_ABSENT = Key("image", "Concerns only what is not served.")

KEYS: Mapping[str, Key] = {
    "graphs": Key(
        "served",
        "What is served: graph id to `path/file.py:export` or `package.module:export`, or to "
        '`{"path": …, "description": …}`. The export is a graph, a builder, or a function of '
        "either.",
    ),
    "dependencies": Key(
        "served",
        "Folders beside the file, put on the import path; a local one must exist. Packages are "
        "for the image and must be installed already.",
    ),
    "env": Key(
        "served",
        "A file of `NAME=value` lines, or an object. What the environment sets already wins.",
    ),
    "store": Key("served", "Long-term memory.", holds=True),
    "store.ttl": Key("served", "The lifetime of items.", holds=True),
    "store.ttl.default_ttl": Key("served", "Minutes an item lives when it says nothing itself."),
    "store.ttl.refresh_on_read": Key("served", "Whether a read restarts the lifetime (true)."),
    "store.ttl.omit_expired": Key("image", "Always so: an expired item reads as absent."),
    "store.ttl.sweep_interval_minutes": Key(
        "served", "How often expired items are deleted (60); they read as absent before that."
    ),
    "store.index": Key(
        "served", "What is searched by meaning and by words; without it nothing is.", holds=True
    ),
    "store.index.embed": Key(
        "served",
        "What makes vectors of texts: `threadkeep:default` (bundled with the extra `semantic`; no "
        "network, no key), a model as LangChain names it (`openai:text-embedding-3-small`), or a "
        "function, `./embed.py:embed`.",
    ),
    "store.index.dims": Key(
        "served", "Numbers per vector; may be left out beside `threadkeep:default`."
    ),
    "store.index.fields": Key(
        "served",
        'Which fields of an item are embedded, e.g. `["text", "facts[*].name"]` (`["$"]`).',
    ),
    "store.index.hnsw": Key(
        "served", "PostgreSQL: search approximately and fast, by an HNSW index (false)."
    ),
    "store.index.mode": Key(
        "served", "How a query ranks: `vector`, `text`, `hybrid` or `auto` (`vector`)."
    ),
    "store.scope": Key(
        "served",
        'Labels that every namespace lies below, e.g. `["users", "{identity}"]`: over HTTP and '
        "inside graphs, each caller has a memory of their own.",
    ),
    "store.adapter": Key(
        "served",
        "Another store in place of ours, `./my_store.py:store`: a `BaseStore`, an `ItemRepo`, or a "
        "function that returns one. Not beside `store.index`.",
    ),
    "checkpointer": Key(
        "served",
        'The memory of threads: absent or `"default"` is ours on the database.',
        holds=True,
        word="default",
    ),
    "checkpointer.path": Key(
        "served",
        "Another saver instead: `path/file.py:name` of one, or of what opens one (a function, an "
        "async context manager). It is checked at the start.",
    ),
    "checkpointer.type": Key("later", "the database decides where threads are kept"),
    "checkpointer.ttl": Key("served", "The lifetime of threads.", holds=True),
    "checkpointer.ttl.strategy": Key(
        "served",
        "`delete` (default): the thread goes with all that is its own. `keep_latest`: its "
        "checkpoints go but for the latest, and its lifetime begins anew.",
    ),
    "checkpointer.ttl.default_ttl": Key(
        "served", "Minutes a thread lives that says nothing itself (for ever)."
    ),
    "checkpointer.ttl.sweep_interval_minutes": Key(
        "served", "How often expired threads are looked for (1); they read until then."
    ),
    "checkpointer.ttl.sweep_limit": Key("served", "Threads of one sweep, at most 100 (100)."),
    "checkpointer.serde": Key("served", "Which types are restored.", holds=True),
    "checkpointer.serde.allowed_json_modules": Key(
        "served", "Further types, each as a list of module and name."
    ),
    "checkpointer.serde.allowed_msgpack_modules": Key("served", "The same."),
    "checkpointer.serde.pickle_fallback": Key("served", "Only `false`: nothing is ever unpickled."),
    "checkpointer.prune": Key("later", "old checkpoints are kept"),
    "auth": Key("served", "Who may call, and what they may see.", holds=True),
    "auth.path": Key(
        "served", "`path/file.py:name` of an `Auth` object of `langgraph_sdk`. Required."
    ),
    "auth.disable_studio_auth": Key(
        "image", "Always so: every request goes through `authenticate`."
    ),
    "auth.openapi": Key("later", "the OpenAPI document names no security scheme"),
    "auth.cache": Key("image", "Nothing is cached: `authenticate` is asked each time."),
    "encryption": Key(
        "refused",
        "nothing is encrypted at rest yet",
        "Remove the key to store plain text",
    ),
    "http": Key("served", "The server.", holds=True),
    "http.cors": Key("served", "Which other origins a browser may call from.", holds=True),
    "http.cors.allow_origins": Key("served", 'A list of origins; `["*"]` for all.'),
    "http.cors.allow_origin_regex": Key("served", "Origins as a regular expression."),
    "http.cors.allow_methods": Key("served", "A list of methods (all)."),
    "http.cors.allow_headers": Key("served", "A list of request headers (all)."),
    "http.cors.allow_credentials": Key("served", "Whether cookies are sent (false)."),
    "http.cors.expose_headers": Key("served", "A list of response headers that a script may read."),
    "http.cors.max_age": Key("served", "Seconds a browser may keep the answer (600)."),
    "http.mount_prefix": Key("served", "A path before every route, e.g. `/agents`."),
    "http.app": Key(
        "refused",
        "an app of your own is not mounted, and the middleware in it would not guard the routes",
        "Remove the key, and mount threadkeep.create_app() in your app",
    ),
    "http.enable_custom_route_auth": _ABSENT,
    "http.middleware_order": _ABSENT,
    "http.configurable_headers": Key(
        "served", "Request headers that a graph finds in `configurable`.", holds=True
    ),
    "http.configurable_headers.includes": Key(
        "served", "Their names, with `*` for any text (none)."
    ),
    "http.configurable_headers.excludes": Key(
        "served", "Those left out all the same (headers of credentials)."
    ),
    "http.logging_headers": Key("image", "No header is ever logged."),
    "http.disable_assistants": _disabled("assistants"),
    "http.disable_threads": _disabled("threads"),
    "http.disable_runs": _disabled("runs"),
    "http.disable_crons": _disabled("crons"),
    "http.disable_store": _disabled("store"),
    "http.disable_meta": _disabled("meta"),
    "http.disable_mcp": _ABSENT,
    "http.disable_a2a": _ABSENT,
    "http.disable_ui": _ABSENT,
    "http.disable_webhooks": Key("served", "Runs call no webhook (false)."),
    "webhooks": Key("served", "What runs may call when they have ended.", holds=True),
    "webhooks.env_prefix": Key(
        "served", f"How variables begin that headers may name (`{ENV_PREFIX}`)."
    ),
    "webhooks.headers": Key(
        "served", "Headers of each call; `${{ env.NAME }}` stands for a variable."
    ),
    "webhooks.url": Key("served", "Which addresses may be called.", holds=True),
    "webhooks.url.require_https": Key("served", "Only `https` (false)."),
    "webhooks.url.allowed_domains": Key(
        "served", "Only these hosts; `*.example.com` for all below a name (all)."
    ),
    "webhooks.url.allowed_ports": Key("served", "Only these ports (all)."),
    "webhooks.url.max_url_length": Key("served", "Characters of an address (4,096)."),
    "webhooks.url.disable_loopback": Key(
        "served", "Whether this machine's own addresses are refused (true)."
    ),
    "priority": Key("later", "runs start in the order they came"),
    "ui": Key("later", "no user interface is bundled"),
    "ui_config": Key("later", "no user interface is bundled"),
    "python_version": _IMAGE,
    "node_version": _IMAGE,
    "api_version": _IMAGE,
    "base_image": _IMAGE,
    "image_distro": _IMAGE,
    "pip_config_file": _IMAGE,
    "pip_installer": _IMAGE,
    "source": _IMAGE,
    "dockerfile_lines": _IMAGE,
    "keep_pkg_tools": _IMAGE,
    "$schema": _IMAGE,
}
