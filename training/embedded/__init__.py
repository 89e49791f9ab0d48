"""How the embedded vision model is made: data, damage, network, training, export and measurement."""
