-- Documents that name others: a read follows those, and most of what they name names nothing.
CREATE INDEX document_nodes ON documents (tid, ref) WHERE refs IS NOT NULL;
