"""Run control: the experiment client, schedules, ratings, result queries and plots."""
