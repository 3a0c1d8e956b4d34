"""PyTorch's DistributedDataParallel over Gloo on the task of rank.mjs: torchrun --nproc-per-node N ddp.py '{"units": 512, …}'."""

import json
import os
import statistics
import sys
import time

import torch
import torch.distributed as dist

VOCABULARY = 96
settings = json.loads(sys.argv[1])
torch.set_num_threads(1)
torch.manual_seed(1)


class CharacterModel(torch.nn.Module):
    def __init__(self, units):
        super().__init__()
        self.embedding = torch.nn.Embedding(VOCABULARY, 64)
        self.lstm = torch.nn.LSTM(64, units)
        self.output = torch.nn.Linear(units, VOCABULARY)

    def forward(self, ids):
        return self.output(self.lstm(self.embedding(ids))[0])


model = CharacterModel(settings["units"])
size = int(os.environ.get("WORLD_SIZE", "1"))
if size > 1:
    dist.init_process_group("gloo")
    model = torch.nn.parallel.DistributedDataParallel(model)
optimizer = torch.optim.Adam(model.parameters())
steps, batch = settings["time"], settings["batch"]
ids = torch.arange(steps * batch).mul(7).remainder(VOCABULARY).reshape(steps, batch)
labels = (ids + 1) % VOCABULARY
times = []
for step in range(settings["warmup"] + settings["steps"]):
    begin = time.perf_counter()
    optimizer.zero_grad()
    loss = torch.nn.functional.cross_entropy(model(ids).reshape(-1, VOCABULARY), labels.reshape(-1))
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1)
    optimizer.step()
    if step >= settings["warmup"]:
        times.append((time.perf_counter() - begin) * 1000)
if int(os.environ.get("RANK", "0")) == 0:
    print(json.dumps({"milliseconds": statistics.median(times), "tokens": steps * batch * size}))
if size > 1:
    dist.destroy_process_group()
