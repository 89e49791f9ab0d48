"""AgenticIQA: how good a picture is, what is wrong with it, where, and why."""
