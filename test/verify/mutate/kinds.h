/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mistakes planted in real schedules. Each kind picks a place where it is certain to be wrong, and
 * says no where the schedule has none. Adding one is a function and its name here.
 */
#ifndef NCOLL_TEST_VERIFY_MUTATE_KINDS_H
#define NCOLL_TEST_VERIFY_MUTATE_KINDS_H

#include "test/verify/mutate/site.h"

/* messages.c */
#define MESSAGES_MISTAKES(X)                                                                       \
    X(put_to_wrong_peer)                                                                           \
    X(wait_for_wrong_peer)                                                                         \
    X(put_to_itself)                                                                               \
    X(put_missing)                                                                                 \
    X(wait_missing)                                                                                \
    X(put_twice)                                                                                   \
    X(wait_twice)                                                                                  \
    X(put_to_wrong_slot)                                                                           \
    X(wait_for_wrong_slot)                                                                         \
    X(slot_beyond_footprint)                                                                       \
    X(slot_used_again_in_call)                                                                     \
    X(put_too_short)                                                                               \
    X(wait_for_too_much)                                                                           \
    X(put_from_wrong_offset)                                                                       \
    X(put_from_out_too_early)                                                                      \
    X(put_from_arrived_too_early)                                                                  \
    X(put_of_own_data_only)                                                                        \
    X(everyone_waits_first)                                                                        \
    X(barrier_misses_a_rank)                                                                       \
    X(peer_in_a_byte)

/* memory.c */
#define MEMORY_MISTAKES(X)                                                                         \
    X(arrived_read_before_wait)                                                                    \
    X(source_overwritten)                                                                          \
    X(in_written)                                                                                  \
    X(arrived_written)                                                                             \
    X(in_read_after_out)                                                                           \
    X(out_read_before_written)                                                                     \
    X(out_not_written)                                                                             \
    X(scratch_not_written)                                                                         \
    X(operand_at_wrong_offset)                                                                     \
    X(one_half_for_all_calls)                                                                      \
    X(footprint_lacks_a_slot)                                                                      \
    X(footprint_lacks_scratch)                                                                     \
    X(footprint_lacks_message)                                                                     \
    X(footprint_lacks_sent)                                                                        \
    X(footprint_has_a_slot_more)                                                                   \
    X(footprint_has_scratch_more)                                                                  \
    X(footprint_has_message_more)                                                                  \
    X(footprint_has_sent_more)

/* values.c */
#define VALUES_MISTAKES(X)                                                                         \
    X(contribution_twice)                                                                          \
    X(contribution_missing)                                                                        \
    X(own_contribution_missing)                                                                    \
    X(operands_swapped)                                                                            \
    X(other_expression_on_one_rank)                                                                \
    X(takeout_missing)                                                                             \
    X(takeout_of_too_much)                                                                         \
    X(takeout_twice)                                                                               \
    X(takeout_without_inverse)                                                                     \
    X(step_on_nothing)

/* blocks.c */
#define BLOCKS_MISTAKES(X)                                                                         \
    X(other_root_on_one_rank)                                                                      \
    X(other_counts_on_one_rank)                                                                    \
    X(other_places_on_one_rank)                                                                    \
    X(rank_without_a_place_waits)                                                                  \
    X(rank_without_a_place_writes)                                                                 \
    X(in_from_wrong_block)                                                                         \
    X(out_to_wrong_block)                                                                          \
    X(blocks_taken_for_a_vector)                                                                   \
    X(put_of_nothing)                                                                              \
    X(in_spoilt_in_place)                                                                          \
    X(own_part_not_copied)                                                                         \
    X(out_written_where_there_is_none)                                                             \
    X(exscan_gives_rank_0_something)                                                               \
    X(out_written_beyond_its_end)                                                                  \
    X(sent_out_overwritten)                                                                        \
    X(prefix_too_long)                                                                             \
    X(scan_for_exscan)                                                                             \
    X(exscan_for_scan)                                                                             \
    X(promise_to_synchronise)                                                                      \
    X(promise_to_acknowledge)                                                                      \
    X(read_after_the_acknowledgement)                                                              \
    X(promise_of_same_distances)                                                                   \
    X(promise_to_rotate)

/* looks.c */
#define LOOKS_MISTAKES(X)                                                                          \
    X(look_missing)                                                                                \
    X(look_at_wrong_neighbour)                                                                     \
    X(look_at_wrong_slot)                                                                          \
    X(look_for_wrong_peer)                                                                         \
    X(look_at_another_node)                                                                        \
    X(look_at_itself)                                                                              \
    X(look_for_too_much)                                                                           \
    X(look_without_synchronising)                                                                  \
    X(look_without_promise)                                                                        \
    X(look_where_windows_are_not_shared)                                                           \
    X(look_that_the_wait_does_not_say)                                                             \
    X(wait_shared_with_nobody)                                                                     \
    X(neighbours_message_put)                                                                      \
    X(neighbours_message_written)                                                                  \
    X(neighbours_message_read_elsewhere)                                                           \
    X(neighbour_without_data_left_out)

#define MISTAKES(X)                                                                                \
    LOOKS_MISTAKES(X)                                                                              \
    MESSAGES_MISTAKES(X) MEMORY_MISTAKES(X) VALUES_MISTAKES(X) BLOCKS_MISTAKES(X)

#define DECLARE(name) bool name(struct site *at);
MISTAKES(DECLARE)
#undef DECLARE

#endif
