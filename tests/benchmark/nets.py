"""Microseconds that PyTorch spends on one sample of the nets of nets.cc, on one thread.

Prints "CASE/BATCH MICROSECONDS", the minimum of several repetitions. nets.sh runs it.
"""

import time

import torch
from torch import nn

REPETITIONS = 20


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


def mlp(first, second):
    return nn.Sequential(
        nn.Linear(784, first), nn.ReLU(), nn.Linear(first, second), nn.ReLU(),
        nn.Linear(second, 10))


NETS = {
    "lenet": (lenet(), (1, 28, 28)),
    "lstm": (nn.Sequential(Last(), nn.Linear(32, 10)), (40, 8)),
    "mlp-1m": (mlp(800, 448), (784,)),
    "mlp-5m": (mlp(2048, 1632), (784,)),
}


def train(net, samples):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    loss_of = nn.CrossEntropyLoss()
    labels = torch.arange(len(samples)) % 10

    def step():
        optimizer.zero_grad()
        loss_of(net(samples), labels).backward()
        optimizer.step()
    return step


def forward(net, samples):
    def predict():
        with torch.no_grad():
            net(samples)
    return predict


def measure(case, make, batch):
    for name, (net, shape) in NETS.items():
        step = make(net, torch.rand(batch, *shape))
        best = float("inf")
        for _ in range(REPETITIONS):
            start = time.process_time()
            step()
            best = min(best, time.process_time() - start)
        print(f"{case} {name}/{batch} {1e6 * best / batch}")


torch.set_num_threads(1)
torch.manual_seed(1)
measure("train", train, 10)
measure("train", train, 64)
measure("train", train, 500)
measure("forward", forward, 500)
