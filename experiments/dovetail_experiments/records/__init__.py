"""The store: schema, migrations, states and exports."""
