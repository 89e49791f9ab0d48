"""The three agents, how they ask their models, and what their work ends in."""
