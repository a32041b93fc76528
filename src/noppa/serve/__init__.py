"""The server: OpenAI's and text-embeddings-inference's endpoints, explanations, search, and a page to look inside.

    connection -> gate -> routes -> body -> turns -> models -> answer
    protocol      gate    app       body    turns    models    openai, tei, explore, lines, health

`connection` bounds headers and slow clients; `gate` gives every request an id, a key check, a count and a log line, and
turns whatever goes wrong into one shape of error; `turns` is the bounded queue in front of the encoder.
"""
