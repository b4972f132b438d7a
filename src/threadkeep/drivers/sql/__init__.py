"""What the SQL drivers share: named statements, migrations, and the resource repos."""
