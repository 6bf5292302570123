"""Microseconds that PyTorch spends on one training sample of the nets of nets.cc, on one thread.

Prints "NAME MICROSECONDS", the minimum of several repetitions. training.sh runs it.
"""

import time

import torch
from torch import nn

BATCH = 10
STEPS = 4
REPETITIONS = 40


class Last(nn.Module):
    """The last hidden state of an LSTM."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(8, 32, batch_first=True)

    def forward(self, x):
        return self.lstm(x)[0][:, -1]


def lenet():
    return nn.Sequential(
        nn.Conv2d(1, 6, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(6, 16, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(400, 120), nn.ReLU(),
        nn.Linear(120, 84), nn.ReLU(), nn.Linear(84, 10))


def microseconds(net, samples):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    labels = torch.arange(BATCH)
    best = float("inf")
    for _ in range(REPETITIONS):
        start = time.process_time()
        for _ in range(STEPS):
            optimizer.zero_grad()
            loss_of(net(samples), labels).backward()
            optimizer.step()
        best = min(best, time.process_time() - start)
    return 1e6 * best / (STEPS * BATCH)


torch.set_num_threads(1)
torch.manual_seed(1)
print("lenet", microseconds(lenet(), torch.rand(BATCH, 1, 28, 28)))
print("lstm", microseconds(nn.Sequential(Last(), nn.Linear(32, 10)), torch.rand(BATCH, 40, 8)))
