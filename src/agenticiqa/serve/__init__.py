"""AgenticIQA for other programs: HTTP, MCP, LangChain."""
