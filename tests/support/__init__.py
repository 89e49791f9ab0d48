"""What the requirement tests share: a scripted model, builders of plans and evidence, small pictures."""
