"""Writes a golden file; see the package."""

import json
import sys
from base64 import b64encode
from pathlib import Path

from tests.goldens.contents import SCOPE, THREAD, put_all
from threadkeep import DocumentCheckpointSaver
from threadkeep.ports.documents import COLLECTIONS, Document, Find
from threadkeep.ports.drivers import open_driver


def line(document: Document) -> str:
    """State a document as a line of JSON, bytes in hex, the body in base64."""
    told = {
        "collection": document.collection,
        "key": [part.hex() if isinstance(part, bytes) else part for part in document.key],
        "fields": {
            name: value.hex() if isinstance(value, bytes) else value
            for name, value in document.fields.items()
        },
        "refs": [ref.hex() for ref in document.refs],
        "body": b64encode(document.body).decode(),
    }
    return json.dumps(told)


def written() -> list[Document]:
    """Store the golden contents by the present code, and give the documents."""
    driver = open_driver("memory://")
    documents = driver.documents()
    documents.setup()
    put_all(DocumentCheckpointSaver(documents))
    return [
        document
        for collection in COLLECTIONS
        for document in documents.find(SCOPE, Find(collection, THREAD)).documents
    ]


if __name__ == "__main__":
    path = Path(__file__).parent / f"{sys.argv[1]}.jsonl"
    with path.open("x", encoding="utf-8") as file:
        file.writelines(line(document) + "\n" for document in written())
