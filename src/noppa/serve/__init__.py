"""The server: OpenAI's and text-embeddings-inference's endpoints, explanations, search, and a page to look inside.

    connection  -> middleware -> router          -> body bytes -> fields -> queue -> encoder       -> answer
    connections    gate          app, operations    receive       fields    turns    served_models    openai, tei, explore,
                                                                                                      line_routes, health

`connections` bounds headers, slow clients and their number. `gate` gives every request an id, a key check, a count, a log
line and a lease on the memory `budget`, and turns every error into one shape. An operation declares its body and answer
once, for the router, the checks and the OpenAPI document. `turns` is the bounded queue in front of the encoder. Several
processes are `workers` behind one `port`, with one `line_store` for what browsers keep here.
"""
