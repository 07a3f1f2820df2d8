"""How well the models predict, cluster and choose beside their peers."""
