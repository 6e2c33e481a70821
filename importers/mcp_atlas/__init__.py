"""Read MCP-Atlas results: conversations over MCP servers that are judged claim by claim."""
