"""A network in compiled code, one observation at a time: for play, and within searches.

Inputs that are zero are passed over: observations are mostly zeros, and so is half of what ReLU leaves.
"""

from __future__ import annotations

import numpy as np

from agents.weights import Weights
from airenv.core.jit import jit
from airenv.core.random import next_word

WORDS = 2**32
HEADS = 2  # policy and value, the last of the layers


def packed(weights: Weights) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of a network in one array, and the (inputs, outputs) of its layers, the two heads last."""
    numbers = np.concatenate([part.ravel() for layer in weights.layers for part in layer]).astype(np.float32)
    shapes = np.array([matrix.shape for matrix, _ in weights.layers], np.int64)
    return numbers, shapes


def workspace(shapes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The scratch paper of `forward_one`: two rows for what layers put out, and a list of inputs."""
    widest = int(shapes.max())
    return np.zeros((2, widest), np.float32), np.zeros(widest + 1, np.int64)


@jit
def forward_one(numbers, shapes, observation, work, logits):
    """Write the logits of an observation; returns its value. `work` is a workspace."""
    hidden, found = work
    seen, place = through_trunk(numbers, shapes, observation, hidden, found)
    place = linear(numbers, place, seen, logits, found)
    value = hidden[shapes.shape[0] % 2, :1]  # the row that the trunk's last layer left free
    linear(numbers, place, seen, value, found)
    return value[0]


@jit
def through_trunk(numbers, shapes, observation, hidden, found):
    """What the trunk makes of an observation, in a row of `hidden`, and the place of the policy's numbers."""
    inputs = observation
    place = np.int64(0)
    for layer in range(shapes.shape[0] - HEADS):
        outputs = hidden[layer % 2, : shapes[layer, 1]]
        place = linear(numbers, place, inputs, outputs, found)
        for k in range(outputs.shape[0]):
            outputs[k] = max(outputs[k], np.float32(0.0))
        inputs = outputs
    return inputs, place


@jit
def forward_rows(numbers, shapes, observations, work, logits, values):
    """Logits and values of a batch, row by row: as fast as matrix products for networks that stay in the cache."""
    for row in range(observations.shape[0]):
        values[row] = forward_one(numbers, shapes, observations[row], work, logits[row])


@jit
def linear(numbers, place, inputs, outputs, found):
    """One layer, from its place among the numbers on; returns the place of the next.

    Four inputs that are not zero at a time, so that the outputs are read and written a quarter as often. `found` is
    scratch, as long as the inputs and one more.
    """
    wide = outputs.shape[0]
    bias = place + inputs.shape[0] * wide
    count = 0
    for i in range(inputs.shape[0]):
        found[count] = i
        count += inputs[i] != 0.0
    for k in range(wide):
        outputs[k] = numbers[bias + k]
    fours = count - count % 4
    for j in range(0, fours, 4):
        # rows as slices: with sums of places as indices, the loop would not be vectorised
        a, b, c, d = found[j], found[j + 1], found[j + 2], found[j + 3]
        row_a = numbers[place + a * wide : place + (a + 1) * wide]
        row_b = numbers[place + b * wide : place + (b + 1) * wide]
        row_c = numbers[place + c * wide : place + (c + 1) * wide]
        row_d = numbers[place + d * wide : place + (d + 1) * wide]
        w, x, y, z = inputs[a], inputs[b], inputs[c], inputs[d]
        for k in range(wide):
            outputs[k] = (((outputs[k] + w * row_a[k]) + x * row_b[k]) + y * row_c[k]) + z * row_d[k]
    for j in range(fours, count):
        a = found[j]
        row_a = numbers[place + a * wide : place + (a + 1) * wide]
        w = inputs[a]
        for k in range(wide):
            outputs[k] += w * row_a[k]
    return bias + wide


@jit
def masked_softmax(logits, mask, out):
    """The policy over the legal actions; zero for all others."""
    most = -np.inf
    for action in range(mask.shape[0]):
        if mask[action] and logits[action] > most:
            most = logits[action]
    total = 0.0
    for action in range(mask.shape[0]):
        out[action] = np.exp(logits[action] - most) if mask[action] else 0.0
        total += out[action]
    for action in range(mask.shape[0]):
        out[action] /= total


@jit
def likeliest(logits, mask):
    """The legal action with the highest logit; -1 if none is legal."""
    best = -1
    for action in range(mask.shape[0]):
        if mask[action] and (best < 0 or logits[action] > logits[best]):
            best = action
    return best


@jit
def sample(rng, shares, mask):
    """An action drawn by its share; of what rounding leaves over, the last legal one."""
    left = next_word(rng) / WORDS
    last = -1
    for action in range(mask.shape[0]):
        if mask[action]:
            last = action
            left -= shares[action]
            if left < 0.0:
                return action
    return last


@jit
def sample_rows(rng, logits, masks, shares, actions):
    """An action for every row of a batch, drawn by the masked softmax of its logits."""
    for row in range(masks.shape[0]):
        masked_softmax(logits[row], masks[row], shares)
        actions[row] = sample(rng, shares, masks[row])


@jit
def likeliest_rows(logits, masks, actions):
    for row in range(masks.shape[0]):
        actions[row] = likeliest(logits[row], masks[row])


@jit
def log_shares(logits, masks, actions, out):
    """The logarithm of the share of the action chosen in every row."""
    for row in range(masks.shape[0]):
        most = -np.inf
        for action in range(masks.shape[1]):
            if masks[row, action] and logits[row, action] > most:
                most = logits[row, action]
        total = 0.0
        for action in range(masks.shape[1]):
            if masks[row, action]:
                total += np.exp(logits[row, action] - most)
        out[row] = logits[row, actions[row]] - most - np.log(total)
