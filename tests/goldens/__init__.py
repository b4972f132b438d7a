"""Documents as releases stored them, kept for ever: each line one document of thread ``golden``.

``python -m tests.goldens NAME`` writes those of the present code as a new file. A file that is
there is never changed: what it holds lies in somebody's database.

    rows.jsonl      before rows had sums: formats 0, 1, 2 and 3
    sums.jsonl      rows of format 8, frames of format 4, tables, texts in pieces
"""
