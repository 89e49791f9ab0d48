"""Fine-tuning of Qwen2.5-VL on the agents' own conversations."""
