"""Run control: the `Experiment` client, over a connection or in process."""
