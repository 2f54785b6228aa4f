"""The identities that link formulas, shown with symbols: no numbers, so no coincidence."""

from __future__ import annotations

from typing import Any

import pytest
import sympy

from infer_cost import roofline as r

B, S, N, N_TOTAL, C, C_A, BW, W, K, A, b = sympy.symbols("B S N N_total C C_a BW W k a b", positive=True)
ALPHA, GAMMA, COST, RANKS, MESSAGE, LINK, LATENCY = sympy.symbols("alpha gamma c n S_m W_l l", positive=True)


def zero(expression: Any) -> bool:
    return sympy.simplify(expression) == 0


def branch(expression: Any) -> Any:
    """The case in which there is an answer."""
    return expression.replace(lambda part: isinstance(part, sympy.Piecewise), lambda part: part.args[0][0])


def test_optimal_batch_is_where_compute_takes_as_long_as_memory() -> None:
    best = r.optimal_batch(C, BW, b, N_TOTAL, N)
    assert zero(r.t_compute(best, N, C) - r.t_mem(N_TOTAL * b, 0, BW))


def test_optimal_batch_with_cache_is_where_both_meet() -> None:
    best = branch(r.optimal_batch_with_kv(W, N, C, BW, S, K, A, C_A))
    compute = r.t_compute(best, N, C) + r.t_attention(best, S, A, C_A)
    assert zero(compute - r.t_mem(W, r.kv_bytes(best, S, K), BW))


def test_optimal_batch_with_cache_reduces_to_the_plain_one_at_context_zero() -> None:
    with_cache = branch(r.optimal_batch_with_kv(N_TOTAL * b, N, C, BW, 0, K, A, C_A))
    assert zero(with_cache - r.optimal_batch(C, BW, b, N_TOTAL, N))


def test_critical_context_is_where_the_optimal_batch_runs_off() -> None:
    limit = branch(r.critical_context(N, C, BW, K, A, C_A))
    inverse = 1 / branch(r.optimal_batch_with_kv(W, N, C, BW, S, K, A, C_A))
    assert zero(inverse.subs(S, limit))


def test_optimal_batch_is_the_ridge_times_half_the_bytes_over_the_active_share() -> None:
    assert zero(r.optimal_batch(C, BW, b, N_TOTAL, N) - r.ridge_point(C, BW) * b / 2 * N_TOTAL / N)


def test_cost_of_a_token_is_flat_past_the_optimal_batch_and_falls_before() -> None:
    price = sympy.Symbol("p", positive=True)
    compute_bound = r.cost_per_token(price, r.t_compute(B, N, C), B)
    memory_bound = r.cost_per_token(price, r.t_mem(W, 0, BW), B)
    assert zero(sympy.diff(compute_bound, B))
    assert sympy.diff(memory_bound, B).is_negative


def test_attainable_rate_bends_at_the_ridge() -> None:
    assert r.attainable_flops(r.ridge_point(C, BW), C, BW) == C


def test_speculation_with_a_free_draft_speeds_up_by_the_expected_tokens() -> None:
    assert zero(r.speculative_speedup(ALPHA, GAMMA, 0) - r.speculative_expected_tokens(ALPHA, GAMMA))


def test_expected_tokens_are_the_sum_of_the_chances_of_each() -> None:
    for drafts in range(1, 6):
        chances = sum(ALPHA**count for count in range(drafts + 1))
        assert zero(r.speculative_expected_tokens(ALPHA, drafts) - chances)


def test_one_draft_token_yields_one_and_its_acceptance() -> None:
    assert zero(r.speculative_expected_tokens(ALPHA, 1) - (1 + ALPHA))


def test_a_tree_of_width_one_is_a_chain() -> None:
    tree = r.speculative_expected_tokens_tree(ALPHA, GAMMA, 1)
    assert zero(tree - r.speculative_expected_tokens(ALPHA, GAMMA))


def test_operations_and_expected_tokens_are_inverse() -> None:
    product = r.speculative_operations_factor(ALPHA, GAMMA) * r.speculative_expected_tokens(ALPHA, GAMMA)
    assert zero(product - (GAMMA + 1))


def test_speculation_stops_paying_at_its_limit() -> None:
    """Above B_opt/(gamma + 1), where verification is compute-bound and a plain step isn't."""
    best = sympy.Symbol("B_opt", positive=True)
    limit = branch(r.speculative_batch_limit(ALPHA, GAMMA, COST, best))
    verify = limit * (GAMMA + 1) / best
    assert zero(r.speculative_expected_tokens(ALPHA, GAMMA) / (GAMMA * COST + verify) - 1)


def test_batched_speedup_is_the_plain_one_while_verification_is_free() -> None:
    args = {"acceptance": 0.7, "draft_tokens": 3, "draft_cost_ratio": 0.1}
    assert r.speculative_speedup_batched(**args, batch=1, optimal_batch=300) == r.speculative_speedup(**args)


def test_ring_all_reduce_is_reduce_scatter_then_all_gather() -> None:
    parts = [r.reduce_scatter_time, r.all_gather_time]
    together = sum(part(MESSAGE, RANKS, LINK, LATENCY) for part in parts)
    assert zero(r.all_reduce_time_ring(MESSAGE, RANKS, LINK, LATENCY) - together)


def test_ring_and_one_shot_meet_at_the_crossover() -> None:
    message = branch(r.all_reduce_crossover_bytes(RANKS, LINK, LATENCY))
    ring = r.all_reduce_time_ring(message, RANKS, LINK, LATENCY)
    assert zero(ring - r.all_reduce_time_one_shot(message, RANKS, LINK, LATENCY))


def test_bus_factor_is_what_a_ring_without_latency_reaches() -> None:
    reached = MESSAGE / r.all_reduce_time_ring(MESSAGE, RANKS, LINK, 0)
    assert zero(reached - r.all_reduce_bus_factor(RANKS) * LINK)


def test_all_gather_bandwidth_is_message_over_time() -> None:
    reached = MESSAGE / r.all_gather_time(MESSAGE, RANKS, LINK, 0)
    assert zero(reached - r.all_gather_bandwidth(LINK, RANKS))


def test_two_shot_and_all_to_all_carry_the_same_traffic() -> None:
    two_shot = r.all_reduce_time_two_shot(MESSAGE, RANKS, LINK, LATENCY)
    assert zero(two_shot - 2 * r.all_to_all_time(MESSAGE, RANKS, LINK, LATENCY))


def test_latency_bound_message_takes_as_long_as_its_latency() -> None:
    message = r.latency_bound_bytes(LATENCY, RANKS, LINK)
    assert zero(message / (RANKS * LINK) - LATENCY)


def test_littles_law_holds_in_the_steady_state() -> None:
    """A batch that turns over holds as many requests as arrive during a stay."""
    step, output = sympy.symbols("t O", positive=True)
    assert zero(r.little_law(r.request_rate(B, step, output), step * output) - B)


def test_random_service_is_a_case_of_any_service() -> None:
    rate, service = sympy.symbols("lambda s", positive=True)
    any_service = branch(r.mg1_wait(rate, service, 1))
    assert zero(branch(r.mm1_wait(rate, service)) - any_service)
    kingman = branch(r.kingman_wait(rate * service, 1, 1, service))
    assert zero(branch(r.mm1_wait(rate, service)) - kingman)


def test_one_server_is_a_case_of_several() -> None:
    load, service = sympy.symbols("a s", positive=True)
    assert zero(r.erlang_b(1, load) - load / (1 + load))
    assert zero(branch(r.erlang_c(1, load)) - load)
    one = branch(r.mm1_wait(load / service, service))
    assert zero(branch(r.mmc_wait(1, load, service)) - one)
    assert zero(branch(r.allen_cunneen_wait(1, load, service, 1, 1)) - one)


def test_erlangs_recursion_is_the_sum() -> None:
    load = sympy.Symbol("a", positive=True)
    for servers in (2, 3, 5):
        series = sum(load**count / sympy.factorial(count) for count in range(servers + 1))
        assert zero(r.erlang_b(servers, load) - load**servers / sympy.factorial(servers) / series)


def test_a_finite_queue_with_room_for_one_turns_away_like_one_server() -> None:
    load = sympy.Symbol("a", positive=True)
    assert zero(r.mm1k_blocking(load, 1) - r.erlang_b(1, load))


def test_a_percentile_and_a_service_level_are_inverse() -> None:
    wait = r.mmc_wait_percentile(14, 10.0, 180.0, 0.95)
    assert r.mmc_service_level(14, 10.0, 180.0, wait) == pytest.approx(0.95)


def test_prefill_queue_is_one_server_with_constant_service() -> None:
    rate, prefill, speedup = sympy.symbols("R D K", positive=True)
    service = prefill / speedup
    expected = service + branch(r.mg1_wait(rate, service, 0))
    assert zero(branch(r.prefill_queue_ttft(rate, prefill, speedup)) - expected)


def test_one_replica_misses_only_the_first_time() -> None:
    requests = sympy.Symbol("n", positive=True)
    assert zero(r.prefix_hit_rate(requests, 1) - (1 - 1 / requests))


def test_experts_hit_by_one_token_are_those_it_uses() -> None:
    experts, used = sympy.symbols("E k", positive=True)
    assert zero(r.experts_hit(experts, used, 1) - used)
    assert sympy.limit(r.experts_hit(256, 8, B), B, sympy.oo) == 256


def test_causal_attention_is_half_of_the_full_one_without_a_cache() -> None:
    layers, heads, width, tokens = sympy.symbols("L H h T", positive=True)
    full = r.attention_flops_full(layers, heads, width, tokens, tokens)
    assert zero(r.attention_flops_causal(layers, heads, width, tokens, 0) - full / 2)


def test_a_prompt_in_chunks_computes_what_it_computes_whole() -> None:
    layers, heads, width, tokens, more = sympy.symbols("L H h T T2", positive=True)
    whole = r.prefill_flops(N, tokens + more, 0, layers, heads, width)
    first = r.prefill_flops(N, tokens, 0, layers, heads, width)
    second = r.prefill_flops(N, more, tokens, layers, heads, width)
    assert zero(whole - first - second)


def test_chunked_prefill_reads_what_lies_before_each_chunk() -> None:
    chunk = sympy.Symbol("c", positive=True)
    for chunks in (1, 2, 5):
        read = sum(index * chunk for index in range(chunks))
        assert zero(r.chunked_prefill_cache_reads(chunks * chunk, chunk) - read)


def test_time_per_token_and_end_to_end_time_are_inverse() -> None:
    first, output, rest = sympy.symbols("TTFT O t", positive=True)
    assert zero(r.tpot(r.end_to_end_time(first, output, rest), first, output) - rest)


def test_padding_waste_and_flattening_say_the_same() -> None:
    mean, longest = sympy.symbols("m x", positive=True)
    assert zero(1 / (1 - r.padding_waste(mean, longest)) - r.flattening_speedup(mean, longest))


def test_keeping_costs_as_much_as_recomputing_at_the_limit() -> None:
    price, prefill, memory_price = sympy.symbols("p t q", positive=True)
    time = r.keep_limit_time(price, prefill, K, memory_price)
    assert zero(r.keep_cost(K, memory_price, time) - r.recompute_cost(price, prefill))


def test_break_even_is_where_both_cost_the_same() -> None:
    fixed, api, own = sympy.symbols("F p v", positive=True)
    tokens = branch(r.break_even_tokens(fixed, api, own))
    assert zero(fixed + tokens * own / 10**6 - tokens * api / 10**6)


def test_an_annuity_writes_the_purchase_off() -> None:
    capital, interest = sympy.symbols("V i", positive=True)
    payment = r.annuity(capital, interest, 4)
    worth = sum(payment / (1 + interest) ** year for year in range(1, 5))
    assert zero(worth - capital)


def test_energy_and_tokens_a_joule_are_inverse() -> None:
    power, rate = sympy.symbols("P X", positive=True)
    assert zero(r.energy_per_token(power, rate) * r.tokens_per_joule(rate, power) - 1)


def test_pipeline_bubble_is_the_share_beyond_the_work() -> None:
    stages, batches, time = sympy.symbols("p m t", positive=True)
    total = r.pipeline_time(stages, batches, time)
    assert zero(r.pipeline_bubble_fraction(stages, batches) - (total - batches * time) / total)


def test_infinities_where_there_is_no_answer() -> None:
    assert r.critical_context(37e9, 1979e12, 4.8e12, 70272, 16_990_208, 989e12) == float("inf")
    assert r.optimal_batch_with_kv(671e9, 37e9, 1979e12, 3.35e12, 4000, 70272, 0, 1979e12) == float("inf")
    assert r.mm1_wait(2.0, 1.0) == r.mmc_wait(2, 2.0, 1.0) == r.kingman_wait(1.0, 1, 1, 1.0) == float("inf")
    assert r.all_reduce_crossover_bytes(2, 1e9, 1e-6) == float("inf")
    assert r.break_even_tokens(1.0, 0.5, 0.5) == float("inf")
    assert r.erlang_c(4, 5.0) == 1.0
    assert r.mmc_service_level(4, 5.0, 1.0, 10.0) == 0.0


def test_edges() -> None:
    assert r.speculative_expected_tokens(1, 4) == 5
    assert r.speculative_batch_limit(0.1, 4, 0.5, 300) == 0
    assert r.speculative_batch_limit(0, 4, 0, 300) == 60
    assert r.speculative_batch_limit(0.3, 2, 0, 300) == pytest.approx(139)
    assert r.speculative_speedup_batched(0.7, 3, 0, 600, 300) == pytest.approx(2.533 / 4)
    assert r.mm1k_blocking(1, 4) == pytest.approx(0.2)
    assert r.mmc_wait_percentile(14, 10.0, 180.0, 0.5) == 0
    assert r.kv_bytes_windowed(100, 128, 2, 3) == 500
    assert r.pipeline_idle_share(4, 8) == 0
    assert r.all_reduce_time_tree(0, 9, 1, 1) == 8
    assert r.busiest_rank(128, 1) == 1
    assert r.busiest_rank(128, 2) == pytest.approx(1.0338, abs=1e-4)
    assert r.experts_hit_uneven(256, 8, 1) == 8
    assert r.experts_hit_uneven(4, 8, 1) == 4
