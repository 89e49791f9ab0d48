"""How the embedded backend reads English questions."""
