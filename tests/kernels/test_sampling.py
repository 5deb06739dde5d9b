"""The choice of the next token, in both forms."""

from __future__ import annotations

import math

import pytest
import torch

from agentsim.kernels.sampling import sample


def test_greedy_takes_the_largest_and_the_lowest_id_among_equals(operation):
    logits = torch.full((3, 2_500), -1.0)
    logits[0, 2_400] = 1.0
    logits[1, [7, 1_031, 2_055]] = 1.0  # the same lane of three blocks of 1,024
    logits[2, [1_500, 30]] = 1.0
    assert operation("sample")(logits, torch.zeros(3)).tolist() == [2_400, 7, 30]


def test_all_equal_gives_the_first(operation):
    assert operation("sample")(torch.zeros(2, 40), torch.zeros(2), torch.rand(2)).tolist() == [0, 0]


@pytest.mark.parametrize(("noise", "token"), [(0.0, 0), (0.19, 0), (0.21, 1), (0.69, 1), (0.71, 2), (0.9999999, 2)])
def test_noise_picks_the_token_at_which_probabilities_reach_it(operation, noise, token):
    # Cumulated: 0.2, 0.7, 1.0
    logits = torch.tensor([[math.log(0.2), math.log(0.5), math.log(0.3)]])
    assert operation("sample")(logits, torch.ones(1), torch.tensor([noise])).tolist() == [token]


def test_temperature_sharpens_and_flattens(operation):
    # Odds of 1:4 become 1:16 at temperature ½ (first token up to 1/17 ≈ 0.059), 1:2 at 2 (up to 1/3).
    logits = torch.tensor([[0.0, math.log(4)]] * 4)
    temperatures = torch.tensor([0.5, 0.5, 2.0, 2.0])
    noise = torch.tensor([0.058, 0.060, 0.332, 0.335])
    assert operation("sample")(logits, temperatures, noise).tolist() == [0, 1, 0, 1]


def test_each_row_by_its_own_temperature(operation):
    logits = torch.tensor([[1.0, 2.0, 0.0], [1.0, 2.0, 0.0]])
    assert operation("sample")(logits, torch.tensor([0.0, 1.0]), torch.tensor([0.999, 0.999])).tolist() == [1, 2]


def test_a_token_of_no_probability_is_never_drawn(operation):
    logits = torch.full((3, 30), float("-inf"))
    logits[:, 11] = 0.0
    logits[:, 20] = 0.0
    drawn = operation("sample")(logits, torch.ones(3), torch.tensor([0.0, 0.4999, 0.9999999]))
    assert drawn.tolist() == [11, 11, 20]


def test_the_kernel_draws_what_the_reference_draws(interpreter):
    logits = torch.randn(6, 3_000) * 3
    temperatures = torch.tensor([0.0, 0.3, 1.0, 2.0, 0.7, 1.0])
    # Noise in the middle of a token's share: rounding doesn't move it over the border.
    shares = torch.softmax(logits.double() / temperatures.clamp(min=0.1)[:, None].double(), -1)
    tokens = torch.multinomial(shares, 1)
    noise = (shares.cumsum(-1) - shares / 2).gather(1, tokens).squeeze(1).float()
    assert sample(logits, temperatures, noise)[1:].equal(tokens[1:, 0])
    assert interpreter.run("sample", logits, temperatures, noise).equal(sample(logits, temperatures, noise))


def test_frequencies_are_the_probabilities():
    # 20,000 draws: a share of p strays by less than 5 √(p(1-p)/20,000) but once in a million times
    logits = torch.tensor([0.0, 1.0, 2.0, -1.0])
    drawn = sample(logits.expand(20_000, 4), torch.full((20_000,), 0.8), torch.rand(20_000))
    shares = torch.bincount(drawn, minlength=4) / 20_000
    for share, p in zip(shares.tolist(), torch.softmax(logits / 0.8, -1).tolist(), strict=True):
        assert abs(share - p) < 5 * math.sqrt(p * (1 - p) / 20_000)


def test_a_temperature_without_noise_is_refused():
    with pytest.raises(ValueError, match="uniform number"):
        sample(torch.zeros(1, 3), torch.ones(1), None)
