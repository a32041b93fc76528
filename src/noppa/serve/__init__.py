"""The HTTP server: the embedding contracts of OpenAI, TEI and Ollama, reranking, explanations, search, and a web page.

    granian -> middleware -> routing                    -> handler          -> service              -> models
    sockets    id, key, log  body -> typed request class   one per contract    queue, memory limit     encode in blocks

`routing` also builds the OpenAPI document from the request and response classes. `run` starts granian, which limits the
headers, drops slow clients, restarts workers that die and finishes running requests on SIGTERM.
"""
