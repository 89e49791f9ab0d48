"""Our own eye: the networks and what they see in a picture. Knows no model and no tool."""
