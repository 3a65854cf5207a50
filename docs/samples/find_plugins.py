from agent_express.registry import registry

plugins = registry()
offline = plugins.find("offline", "models")
print(offline.name, "is", offline.state, "from", offline.distribution)

entry = plugins.manifest(offline)
if entry is not None:
    print(entry.summary)
    print("settings:", ", ".join(entry.config["properties"]))

model = plugins.create(offline, {"faults": ["rate-limit"]}, "commands")
print(model.name)
