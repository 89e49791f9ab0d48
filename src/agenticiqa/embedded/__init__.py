"""The embedded backend: planner, executor and summarizer without a language model."""
