"""The table of routes; ``docs/http.md`` says what each takes and answers."""

from dataclasses import dataclass

from threadkeep.server import assistants, crons, runs, store, system, thread_streams, threads
from threadkeep.server.call import Handler


@dataclass(frozen=True, slots=True)
class RouteEntry:
    """One route."""

    method: str
    path: str
    handler: Handler


SOCKETS = {"/threads/{thread_id}/stream/events": thread_streams.serve}
ROUTES = (
    RouteEntry("GET", "/", system.ok),
    RouteEntry("GET", "/ok", system.ok),
    RouteEntry("GET", "/info", system.info),
    RouteEntry("POST", "/assistants", assistants.create),
    RouteEntry("POST", "/assistants/search", assistants.search),
    RouteEntry("POST", "/assistants/count", assistants.count),
    RouteEntry("GET", "/assistants/{assistant_id}", assistants.get),
    RouteEntry("PATCH", "/assistants/{assistant_id}", assistants.update),
    RouteEntry("DELETE", "/assistants/{assistant_id}", assistants.delete),
    RouteEntry("POST", "/assistants/{assistant_id}/versions", assistants.versions),
    RouteEntry("POST", "/assistants/{assistant_id}/latest", assistants.set_latest),
    RouteEntry("GET", "/assistants/{assistant_id}/schemas", assistants.schemas),
    RouteEntry("GET", "/assistants/{assistant_id}/graph", assistants.graph),
    RouteEntry("GET", "/assistants/{assistant_id}/subgraphs", assistants.subgraphs),
    RouteEntry("GET", "/assistants/{assistant_id}/subgraphs/{namespace}", assistants.subgraphs),
    RouteEntry("POST", "/threads", threads.create),
    RouteEntry("POST", "/threads/search", threads.search),
    RouteEntry("POST", "/threads/count", threads.count),
    RouteEntry("POST", "/threads/prune", threads.prune),
    RouteEntry("GET", "/threads/{thread_id}", threads.get),
    RouteEntry("PATCH", "/threads/{thread_id}", threads.update),
    RouteEntry("DELETE", "/threads/{thread_id}", threads.delete),
    RouteEntry("POST", "/threads/{thread_id}/copy", threads.copy),
    RouteEntry("GET", "/threads/{thread_id}/state", threads.get_state),
    RouteEntry("POST", "/threads/{thread_id}/state", threads.update_state),
    RouteEntry("POST", "/threads/{thread_id}/state/checkpoint", threads.post_state_at),
    RouteEntry("GET", "/threads/{thread_id}/state/{checkpoint_id}", threads.get_state_at),
    RouteEntry("GET", "/threads/{thread_id}/history", threads.get_history),
    RouteEntry("POST", "/threads/{thread_id}/history", threads.post_history),
    RouteEntry("GET", "/threads/{thread_id}/stream", thread_streams.join),
    RouteEntry("POST", "/threads/{thread_id}/stream/events", thread_streams.events),
    RouteEntry("POST", "/threads/{thread_id}/commands", thread_streams.command),
    RouteEntry("GET", "/threads/{thread_id}/runs", runs.list_runs),
    RouteEntry("POST", "/threads/{thread_id}/runs", runs.create),
    RouteEntry("POST", "/threads/{thread_id}/runs/wait", runs.wait),
    RouteEntry("POST", "/threads/{thread_id}/runs/stream", runs.stream),
    RouteEntry("POST", "/threads/{thread_id}/runs/crons", crons.create_for_thread),
    RouteEntry("GET", "/threads/{thread_id}/runs/{run_id}", runs.get),
    RouteEntry("DELETE", "/threads/{thread_id}/runs/{run_id}", runs.delete),
    RouteEntry("GET", "/threads/{thread_id}/runs/{run_id}/join", runs.join),
    RouteEntry("GET", "/threads/{thread_id}/runs/{run_id}/stream", runs.join_stream),
    RouteEntry("POST", "/threads/{thread_id}/runs/{run_id}/cancel", runs.cancel),
    RouteEntry("POST", "/runs", runs.create),
    RouteEntry("POST", "/runs/wait", runs.wait),
    RouteEntry("POST", "/runs/stream", runs.stream),
    RouteEntry("POST", "/runs/batch", runs.create_batch),
    RouteEntry("POST", "/runs/cancel", runs.cancel_many),
    RouteEntry("POST", "/runs/search", runs.search),
    RouteEntry("POST", "/runs/crons", crons.create),
    RouteEntry("POST", "/runs/crons/search", crons.search),
    RouteEntry("POST", "/runs/crons/count", crons.count),
    RouteEntry("GET", "/runs/crons/{cron_id}", crons.get),
    RouteEntry("PATCH", "/runs/crons/{cron_id}", crons.update),
    RouteEntry("DELETE", "/runs/crons/{cron_id}", crons.delete),
    RouteEntry("GET", "/runs/{run_id}", runs.get),
    RouteEntry("DELETE", "/runs/{run_id}", runs.delete),
    RouteEntry("GET", "/runs/{run_id}/join", runs.join),
    RouteEntry("GET", "/runs/{run_id}/stream", runs.join_stream),
    RouteEntry("POST", "/runs/{run_id}/cancel", runs.cancel),
    RouteEntry("PUT", "/store/items", store.put),
    RouteEntry("GET", "/store/items", store.get),
    RouteEntry("DELETE", "/store/items", store.delete),
    RouteEntry("POST", "/store/items/search", store.search),
    RouteEntry("POST", "/store/namespaces", store.list_namespaces),
)


def group_of(path: str) -> str:
    """Return the group of routes that a path belongs to, by which it can be switched off."""
    parts = path.strip("/").split("/")
    if "crons" in parts:
        return "crons"
    if "runs" in parts:
        return "runs"
    return parts[0] if parts[0] in ("assistants", "threads", "store", "ok") else "meta"
