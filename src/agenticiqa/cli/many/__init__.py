"""Commands about many pictures and about results."""
