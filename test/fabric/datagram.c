/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Datagrams of queue pairs without a connection (UD). They go to their receiver, or are lost, when
 * they are posted: as on a network nobody says so if the receiver does not exist, is not reached,
 * has another Q_Key, or has no receive that is long enough. ncoll sends none; other programs find
 * their peers by them.
 */
#include "test/fabric/fabric.h"

#include <string.h>

#define GRH_BYTES 40u /* before the data of each message */

/* The caller has the lock of `to`. */
static bool takes(struct qp *q, const struct shared_qp *to, const struct ibv_send_wr *wr)
{
    const struct ah *ah = (const struct ah *)wr->wr.ud.ah;
    const struct ibv_qp_attr path = {.ah_attr = ah->attr, .pkey_index = q->attr.pkey_index};
    uint32_t state = atomic_load_explicit(&to->state, memory_order_acquire);

    return (state == IBV_QPS_RTR || state == IBV_QPS_RTS) && to->datagrams &&
           to->qkey == wr->wr.ud.remote_qkey && fabric_path_leads(q->device, &path, to);
}

static void deliver(struct qp *q, struct shared_qp *to, const struct request *r,
                    const struct ibv_send_wr *wr)
{
    const struct ah *ah = (const struct ah *)wr->wr.ud.ah;
    size_t bytes = fabric_length(r) + GRH_BYTES;
    bool imm = wr->opcode == IBV_WR_SEND_WITH_IMM;
    struct receive receive;
    struct remote remote;

    if (!fabric_rq_take(fabric_at(to->rq), &receive))
        return;
    struct cqe entry = {
        .wr_id = receive.wr_id,
        .status = IBV_WC_SUCCESS,
        .opcode = IBV_WC_RECV,
        .byte_len = (uint32_t)bytes,
        .imm = imm ? r->imm : 0,
        .wc_flags = (imm ? IBV_WC_WITH_IMM : 0) | (ah->attr.is_global ? IBV_WC_GRH : 0),
        .qp_num = wr->wr.ud.remote_qpn,
        .src_qp = q->verbs.qp_num,
    };
    if (bytes > receive.length)
        entry.status = IBV_WC_LOC_LEN_ERR;
    else if (!fabric_reach(to->pd, receive.lkey, receive.addr, bytes, IBV_ACCESS_LOCAL_WRITE,
                           &remote))
        entry.status = IBV_WC_LOC_PROT_ERR;
    if (entry.status == IBV_WC_SUCCESS) {
        remote.at += GRH_BYTES;
        entry.status = fabric_gather(q, r, remote);
    }
    fabric_complete(fabric_at(to->recv_cq), &entry);
}

void fabric_datagram(struct qp *q, const struct request *r, const struct ibv_send_wr *wr)
{
    if (wr->wr.ud.remote_qpn >= QPS_MOST)
        return;
    struct shared_qp *to = &fabric.state->qps[wr->wr.ud.remote_qpn];

    if (atomic_load_explicit(&to->has_lock, memory_order_acquire) == 0)
        return;
    fabric_lock(&to->lock);
    if (takes(q, to, wr))
        deliver(q, to, r, wr);
    fabric_unlock(&to->lock);
}
