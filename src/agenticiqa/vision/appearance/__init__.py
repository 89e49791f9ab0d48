"""How a picture looks, by numbers: colours, light, arrangement, fine structure. Pure functions of pixels."""
