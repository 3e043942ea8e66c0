/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The library's knowledge of MPI types. A type is examined at its first use, and remembered until
 * the program frees it (MPI_Type_free() is interposed), since MPI may give the handle to another
 * type then.
 */
#include <stdlib.h>
#include <string.h>

#include "interop/mpi/dropin.h"

#define BUCKETS 512u

static struct type *buckets[BUCKETS], *unused;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct named {
    MPI_Datatype mpi;
    enum type_class class;
    bool is_signed;
    ncoll_type native;
};

static unsigned hash(MPI_Datatype mpi)
{
    uintptr_t h = (uintptr_t)mpi;

    return (unsigned)(h ^ h >> 7 ^ h >> 14) % BUCKETS;
}

/* Finds a type among the predefined ones that have operations; NULL: it is not one of them. Which
 * of these exist depends on MPI and its compilers. */
static const struct named *find_named(MPI_Datatype mpi)
{
    const struct named named[] = {
        /* MPI defines no operations for characters; all MPIs have those of integers. */
        {MPI_CHAR, CLASS_C_INTEGER, (char)-1 < 0, 0},
        {MPI_SIGNED_CHAR, CLASS_C_INTEGER, true, 0},
        {MPI_UNSIGNED_CHAR, CLASS_C_INTEGER, false, 0},
        {MPI_SHORT, CLASS_C_INTEGER, true, 0},
        {MPI_UNSIGNED_SHORT, CLASS_C_INTEGER, false, 0},
        {MPI_INT, CLASS_C_INTEGER, true, 0},
        {MPI_UNSIGNED, CLASS_C_INTEGER, false, 0},
        {MPI_LONG, CLASS_C_INTEGER, true, 0},
        {MPI_UNSIGNED_LONG, CLASS_C_INTEGER, false, 0},
        {MPI_LONG_LONG_INT, CLASS_C_INTEGER, true, 0},
        {MPI_UNSIGNED_LONG_LONG, CLASS_C_INTEGER, false, 0},
        {MPI_INT8_T, CLASS_C_INTEGER, true, 0},
        {MPI_INT16_T, CLASS_C_INTEGER, true, 0},
        {MPI_INT32_T, CLASS_C_INTEGER, true, 0},
        {MPI_INT64_T, CLASS_C_INTEGER, true, 0},
        {MPI_UINT8_T, CLASS_C_INTEGER, false, 0},
        {MPI_UINT16_T, CLASS_C_INTEGER, false, 0},
        {MPI_UINT32_T, CLASS_C_INTEGER, false, 0},
        {MPI_UINT64_T, CLASS_C_INTEGER, false, 0},
        {MPI_AINT, CLASS_MULTI, true, 0},
        {MPI_OFFSET, CLASS_MULTI, true, 0},
        {MPI_COUNT, CLASS_MULTI, true, 0},
        {MPI_BYTE, CLASS_BYTE, false, 0},
        {MPI_FLOAT, CLASS_FLOAT, true, NCOLL_FLOAT},
        {MPI_DOUBLE, CLASS_FLOAT, true, NCOLL_DOUBLE},
        {MPI_LONG_DOUBLE, CLASS_FLOAT, true, NCOLL_LONG_DOUBLE},
        {MPI_C_BOOL, CLASS_LOGICAL, false, 0},
        {MPI_C_FLOAT_COMPLEX, CLASS_COMPLEX, true, NCOLL_COMPLEX_FLOAT},
        {MPI_C_DOUBLE_COMPLEX, CLASS_COMPLEX, true, NCOLL_COMPLEX_DOUBLE},
        {MPI_C_LONG_DOUBLE_COMPLEX, CLASS_COMPLEX, true, 0},
        {MPI_2INT, CLASS_PAIR, true, NCOLL_INT32_INT32},
        {MPI_FLOAT_INT, CLASS_PAIR, true, NCOLL_FLOAT_INT32},
        {MPI_DOUBLE_INT, CLASS_PAIR, true, NCOLL_DOUBLE_INT32},
        {MPI_LONG_INT, CLASS_PAIR, true, 0},
        {MPI_SHORT_INT, CLASS_PAIR, true, 0},
        {MPI_LONG_DOUBLE_INT, CLASS_PAIR, true, 0},
        {MPI_INTEGER, CLASS_FORTRAN_INTEGER, true, 0},
        {MPI_REAL, CLASS_FLOAT, true, NCOLL_FLOAT},
        {MPI_DOUBLE_PRECISION, CLASS_FLOAT, true, NCOLL_DOUBLE},
        {MPI_COMPLEX, CLASS_COMPLEX, true, NCOLL_COMPLEX_FLOAT},
        {MPI_DOUBLE_COMPLEX, CLASS_COMPLEX, true, NCOLL_COMPLEX_DOUBLE},
        {MPI_LOGICAL, CLASS_LOGICAL, true, 0},
        {MPI_2INTEGER, CLASS_PAIR, true, NCOLL_INT32_INT32},
        {MPI_2REAL, CLASS_PAIR, true, 0},
        {MPI_2DOUBLE_PRECISION, CLASS_PAIR, true, 0},
#ifdef MPI_INTEGER1
        {MPI_INTEGER1, CLASS_FORTRAN_INTEGER, true, 0},
#endif
#ifdef MPI_INTEGER2
        {MPI_INTEGER2, CLASS_FORTRAN_INTEGER, true, 0},
#endif
#ifdef MPI_INTEGER4
        {MPI_INTEGER4, CLASS_FORTRAN_INTEGER, true, 0},
#endif
#ifdef MPI_INTEGER8
        {MPI_INTEGER8, CLASS_FORTRAN_INTEGER, true, 0},
#endif
#ifdef MPI_INTEGER16
        {MPI_INTEGER16, CLASS_FORTRAN_INTEGER, true, 0},
#endif
#ifdef MPI_REAL4
        {MPI_REAL4, CLASS_FLOAT, true, NCOLL_FLOAT},
#endif
#ifdef MPI_REAL8
        {MPI_REAL8, CLASS_FLOAT, true, NCOLL_DOUBLE},
#endif
#ifdef MPI_REAL16
        {MPI_REAL16, CLASS_FLOAT, true, 0},
#endif
#ifdef MPI_COMPLEX8
        {MPI_COMPLEX8, CLASS_COMPLEX, true, NCOLL_COMPLEX_FLOAT},
#endif
#ifdef MPI_COMPLEX16
        {MPI_COMPLEX16, CLASS_COMPLEX, true, NCOLL_COMPLEX_DOUBLE},
#endif
#ifdef MPI_COMPLEX32
        {MPI_COMPLEX32, CLASS_COMPLEX, true, 0},
#endif
#ifdef MPI_LOGICAL1
        {MPI_LOGICAL1, CLASS_LOGICAL, true, 0},
#endif
#ifdef MPI_LOGICAL2
        {MPI_LOGICAL2, CLASS_LOGICAL, true, 0},
#endif
#ifdef MPI_LOGICAL4
        {MPI_LOGICAL4, CLASS_LOGICAL, true, 0},
#endif
#ifdef MPI_LOGICAL8
        {MPI_LOGICAL8, CLASS_LOGICAL, true, 0},
#endif
#ifdef MPI_CXX_BOOL
        {MPI_CXX_BOOL, CLASS_LOGICAL, false, 0},
#endif
#ifdef MPI_CXX_FLOAT_COMPLEX
        {MPI_CXX_FLOAT_COMPLEX, CLASS_COMPLEX, true, NCOLL_COMPLEX_FLOAT},
#endif
#ifdef MPI_CXX_DOUBLE_COMPLEX
        {MPI_CXX_DOUBLE_COMPLEX, CLASS_COMPLEX, true, NCOLL_COMPLEX_DOUBLE},
#endif
    };
    static _Thread_local struct named found;

    for (size_t i = 0; i < sizeof named / sizeof named[0]; i++)
        if (named[i].mpi == mpi) {
            found = named[i];
            return &found;
        }
    return NULL;
}

static ncoll_type integer_of(size_t size, bool is_signed)
{
    switch (size) {
    case 1:
        return is_signed ? NCOLL_INT8 : NCOLL_UINT8;
    case 2:
        return is_signed ? NCOLL_INT16 : NCOLL_UINT16;
    case 4:
        return is_signed ? NCOLL_INT32 : NCOLL_UINT32;
    case 8:
        return is_signed ? NCOLL_INT64 : NCOLL_UINT64;
    default:
        return 0;
    }
}

/* Returns the type of ncoll with the same values; 0: there is none, as for an unusual size (a
 * compiler option such as -fdefault-real-8 when MPI was built). Fortran's logicals have none, and
 * are left to MPI's own operations, since it depends on the compiler which values are true; C's
 * bool is 0 or 1. */
static ncoll_type native_of(const struct named *n, const struct type *t)
{
    switch (n->class) {
    case CLASS_C_INTEGER:
    case CLASS_FORTRAN_INTEGER:
    case CLASS_MULTI:
    case CLASS_BYTE:
        return integer_of(t->size, n->is_signed);
    case CLASS_LOGICAL:
        return n->is_signed || t->size != 1 ? 0 : NCOLL_UINT8;
    default:
        return n->native != 0 && ncoll_type_size(n->native) == (size_t)t->extent ? n->native : 0;
    }
}

struct contents {
    int ints[3], n_ints, n_types, combiner;
    MPI_Aint addresses[1];
};

static bool is_dense(MPI_Datatype mpi);

static void release_type(MPI_Datatype mpi)
{
    int ints, addresses, types, combiner;

    PMPI_Type_get_envelope(mpi, &ints, &addresses, &types, &combiner);
    if (combiner != MPI_COMBINER_NAMED)
        real.Type_free(&mpi);
}

/* Returns true if the n blocks, in the order of the type map, lie one after the other. Block i has
 * lengths[i] elements, or `length` if lengths is NULL, of `extent` bytes each. It begins at
 * places[i], or indices[i] if places is NULL, in units of `unit` bytes. */
static bool follow(int n, const int *lengths, int length, const MPI_Aint *places,
                   const int *indices, MPI_Aint unit, MPI_Aint extent)
{
    for (int i = 0; i + 1 < n; i++) {
        MPI_Aint here = (places != NULL ? places[i] : indices[i]) * unit;
        MPI_Aint next = (places != NULL ? places[i + 1] : indices[i + 1]) * unit;
        if (next - here != (MPI_Aint)(lengths != NULL ? lengths[i] : length) * extent)
            return false;
    }
    return true;
}

static bool is_dense_inside(int combiner, int n_ints, const int *ints, const MPI_Aint *places,
                            int n_types, const MPI_Datatype *types)
{
    MPI_Aint lb, extent;

    for (int i = 0; i < n_types; i++)
        if (!is_dense(types[i]))
            return false;
    PMPI_Type_get_extent(types[0], &lb, &extent);
    switch (combiner) {
    case MPI_COMBINER_DUP:
    case MPI_COMBINER_CONTIGUOUS:
    case MPI_COMBINER_RESIZED:
    case MPI_COMBINER_SUBARRAY: /* the bytes of a subarray are in ascending order */
        return true;
    case MPI_COMBINER_VECTOR:
        return ints[0] <= 1 || ints[1] == ints[2];
    case MPI_COMBINER_HVECTOR:
        return ints[0] <= 1 || ints[1] * extent == places[0];
    case MPI_COMBINER_INDEXED:
        return follow(ints[0], ints + 1, 0, NULL, ints + 1 + ints[0], extent, extent);
    case MPI_COMBINER_HINDEXED:
        return follow(ints[0], ints + 1, 0, places, NULL, 1, extent);
    case MPI_COMBINER_INDEXED_BLOCK:
        return follow(ints[0], NULL, ints[1], NULL, ints + 2, extent, extent);
    case MPI_COMBINER_HINDEXED_BLOCK:
        return follow(ints[0], NULL, ints[1], places, NULL, 1, extent);
    case MPI_COMBINER_STRUCT:
        for (int i = 0; i + 1 < n_types; i++) {
            PMPI_Type_get_extent(types[i], &lb, &extent);
            if (places[i + 1] - places[i] != ints[1 + i] * extent)
                return false;
        }
        return true;
    default:
        (void)n_ints;
        return false;
    }
}

/* Returns true if the elements of the type are without gaps and in the order of their addresses. A
 * false where it should be true costs copies, and nothing else. */
static bool is_dense(MPI_Datatype mpi)
{
    int n_ints, n_places, n_types, combiner;
    MPI_Aint lb, extent, true_lb, true_extent;
    MPI_Count size;

    PMPI_Type_size_x(mpi, &size);
    PMPI_Type_get_extent(mpi, &lb, &extent);
    PMPI_Type_get_true_extent(mpi, &true_lb, &true_extent);
    if (size != extent || size != true_extent || lb != true_lb)
        return false;
    PMPI_Type_get_envelope(mpi, &n_ints, &n_places, &n_types, &combiner);
    if (combiner == MPI_COMBINER_NAMED)
        return true;
    if (n_types < 1)
        return false;
    int *ints = malloc(((size_t)n_ints + 1) * sizeof *ints);
    MPI_Aint *places = malloc(((size_t)n_places + 1) * sizeof *places);
    MPI_Datatype *types = malloc((size_t)n_types * sizeof *types);
    bool dense = false;
    if (ints != NULL && places != NULL && types != NULL &&
        PMPI_Type_get_contents(mpi, n_ints, n_places, n_types, ints, places, types) ==
            MPI_SUCCESS) {
        dense = is_dense_inside(combiner, n_ints, ints, places, n_types, types);
        for (int i = 0; i < n_types; i++)
            release_type(types[i]);
    }
    free(types);
    free(places);
    free(ints);
    return dense;
}

/* Returns true if a type is committed. MPI has no function that tells it, but refuses to send a
 * type that is not. */
static bool is_committed(MPI_Datatype mpi)
{
    return real.Send(NULL, 0, mpi, MPI_PROC_NULL, 0, world.self) == MPI_SUCCESS;
}

/* Fills in *t. Returns false if the program must not use the type in calls now; it may commit it
 * later. */
static bool examine(MPI_Datatype mpi, struct type *t)
{
    const struct named *named = find_named(mpi);
    int ints, places, types, combiner;
    MPI_Count size;

    *t = (struct type){.mpi = mpi};
    if (PMPI_Type_size_x(mpi, &size) != MPI_SUCCESS || size < 0 ||
        PMPI_Type_get_extent(mpi, &t->lb, &t->extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent(mpi, &t->true_lb, &t->true_extent) != MPI_SUCCESS)
        return false;
    t->size = (size_t)size;
    t->dense = is_dense(mpi);
    PMPI_Type_get_envelope(mpi, &ints, &places, &types, &combiner);
    if (named != NULL) {
        t->class = named->class;
        t->native = native_of(named, t);
        return true;
    }
    t->class = combiner == MPI_COMBINER_NAMED ? CLASS_OTHER : CLASS_DERIVED;
    return t->class == CLASS_OTHER || is_committed(mpi);
}

/* Adds a type to the table; NULL: it cannot be used, or there is no memory. Called with the lock.
 * Entries are not freed, since another thread may be looking at one. */
static const struct type *add(MPI_Datatype mpi)
{
    struct type *t = unused, found;
    unsigned h = hash(mpi);

    for (struct type *known = buckets[h]; known != NULL; known = known->next)
        if (known->mpi == mpi)
            return known;
    if (!examine(mpi, &found))
        return NULL;
    if (t != NULL)
        unused = t->next;
    else if ((t = malloc(sizeof *t)) == NULL)
        return NULL;
    *t = found;
    t->next = buckets[h];
    __atomic_store_n(&buckets[h], t, __ATOMIC_RELEASE);
    return t;
}

const struct type *type_of(MPI_Datatype mpi)
{
    for (struct type *t = __atomic_load_n(&buckets[hash(mpi)], __ATOMIC_ACQUIRE); t != NULL;
         t = t->next)
        if (t->mpi == mpi)
            return t;
    if (mpi == MPI_DATATYPE_NULL)
        return NULL;
    pthread_mutex_lock(&lock);
    const struct type *t = add(mpi);
    pthread_mutex_unlock(&lock);
    return t;
}

void type_forget(MPI_Datatype mpi)
{
    pthread_mutex_lock(&lock);
    for (struct type **at = &buckets[hash(mpi)]; *at != NULL; at = &(*at)->next)
        if ((*at)->mpi == mpi) {
            struct type *t = *at;
            __atomic_store_n(at, t->next, __ATOMIC_RELEASE);
            t->next = unused;
            unused = t;
            break;
        }
    pthread_mutex_unlock(&lock);
}
