"""What cases of the document suite do again and again."""

from dataclasses import replace

from threadkeep.ports.documents import AsyncDocumentStore, Document, Find, Inserted, Scope


async def page_of(store: AsyncDocumentStore, scope: Scope, find: Find) -> list[Document]:
    """Read one page."""
    return list((await store.find(scope, find)).documents)


async def all_of(store: AsyncDocumentStore, scope: Scope, find: Find) -> list[Document]:
    """Read every page, each after the last document of the one before."""
    documents: list[Document] = []
    while True:
        after = (documents[-1].thread_id, documents[-1].key) if documents else None
        page = await store.find(scope, replace(find, after=after))
        documents.extend(page.documents)
        if not page.more:
            return documents
        assert page.documents, "a cut page holds at least one document"


def is_new(inserted: Inserted) -> bool:
    """Say whether a batch was written and met nothing."""
    return inserted.written and not inserted.present
