"""The server: OpenAI's and text-embeddings-inference's endpoints, explanations, search, and a page to look inside.

    connection -> gate -> routes -> bytes   -> fields -> turns -> models -> answer
    protocol      gate    app       receive    body      turns    models    openai, tei, explore, lines, health

`connection` bounds headers, slow clients and their number; `gate` gives every request an id, a key check, a count and a
log line, a share of the memory of all (`budget`), and turns whatever goes wrong into one shape of error; `turns` is the
bounded queue in front of the encoder. Several processes are `workers` behind one port.
"""
