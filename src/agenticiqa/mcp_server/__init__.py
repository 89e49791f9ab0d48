"""AgenticIQA as tools for other agents, through the Model Context Protocol (extra ``mcp``)."""
