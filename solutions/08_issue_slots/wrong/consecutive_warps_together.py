# expect: AssertionError
# cell: layouts
# Puts warps 0 to 3 on one scheduler.
LAYOUTS = {
    "one loader first": "LCCCC",
    "teams of two": "LCLCLCLC",
    "teams of three": "LCSLCSLCSLCS",
    "teams of four": "LCSSLCSSLCSSLCSS",
    "warpgroups": "LLLLCCCCCCCC",
    "storer last": "LCCCCCCCCS",
}
WORK = {"L": 60, "C": 9000, "S": 500}
schedulers = {}
cycles = {}
for name, roles in LAYOUTS.items():
    issued = [0, 0, 0, 0]
    for warp, role in enumerate(roles):
        issued[warp // 4 % 4] += WORK[role]
    cycles[name] = max(issued)
    schedulers[name] = len({warp // 4 % 4 for warp, role in enumerate(roles) if role == "C"})
