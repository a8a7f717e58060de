print("cornerstore")
