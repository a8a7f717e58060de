print("monkeys")
