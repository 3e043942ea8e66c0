! SPDX-License-Identifier: BSD-3-Clause
! Collectives from Fortran, by mpif.h, or by a module: -DMODULE=mpi, -DMODULE=mpi_f08 -DF08. In Fortran handles are integers
! (types of their own in mpi_f08), MPI_IN_PLACE is an address, and operations of the program's get all arguments by reference.
#ifdef F08
#define HANDLE(name) type(MPI_/**/name)
#else
#define HANDLE(name) integer
#endif

! The larger of two numbers by their last digit: an operation of the program's.
#ifdef F08
subroutine larger_digit(in, inout, length, datatype)
  use, intrinsic :: iso_c_binding, only: c_ptr, c_f_pointer
  use MODULE
  implicit none
  type(c_ptr), value :: in, inout
  integer :: length
  type(MPI_Datatype) :: datatype
  integer, pointer :: a(:), b(:)

  call c_f_pointer(in, a, [length])
  call c_f_pointer(inout, b, [length])
  if (datatype /= MPI_INTEGER) error stop 'another type'
  where (mod(a, 10) > mod(b, 10)) b = a
end subroutine larger_digit
#else
subroutine larger_digit(in, inout, length, datatype)
  implicit none
  integer :: length, datatype
  integer :: in(length), inout(length)

  where (mod(in, 10) > mod(inout, 10)) inout = in
  if (datatype == -1) inout = 0
end subroutine larger_digit
#endif

program collectives
#ifdef MODULE
  use MODULE
#endif
  implicit none
#ifndef MODULE
  include 'mpif.h'
#endif
  integer, parameter :: n = 50
  integer :: error, me, ranks, i, root, mistakes = 0

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, me, error)
  call MPI_Comm_size(MPI_COMM_WORLD, ranks, error)
  call MPI_Barrier(MPI_COMM_WORLD, error)
  call check(error == MPI_SUCCESS, 'barrier')
  do root = 0, ranks - 1
    call moves(root)
  end do
  call reductions
  call types
  call requests
  call operation
  call shapes
  call MPI_Allreduce(MPI_IN_PLACE, mistakes, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
  if (me == 0 .and. mistakes == 0) print '(a)', ' No Errors'
  call MPI_Finalize(error)
  if (mistakes > 0) stop 1

contains

  subroutine check(holds, what)
    logical, intent(in) :: holds
    character(*), intent(in) :: what

    if (holds) return
    mistakes = mistakes + 1
    print '(2a)', 'wrong: ', what
  end subroutine check

  subroutine moves(root)
    integer, intent(in) :: root
    integer :: own(n), all(n * ranks), counts(ranks), starts(ranks)

    own = 0
    if (me == root) own = [(root * 1000 + i, i = 1, n)]
    call MPI_Bcast(own, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call check(all_equal(own, root), 'bcast')
    own = [(me * 1000 + i, i = 1, n)]
    all = 0
    call MPI_Gather(own, n, MPI_INTEGER, all, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    if (me == root) call check(all_in_order(all), 'gather')
    all(me * n + 1 : me * n + n) = own
    if (me == root) then
      call MPI_Gather(MPI_IN_PLACE, n, MPI_INTEGER, all, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
      call check(all_in_order(all), 'gather in place')
    else
      call MPI_Gather(own, n, MPI_INTEGER, all, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    end if
    counts = n
    starts = [(n * i, i = 0, ranks - 1)]
    all = 0
    call MPI_Allgatherv(own, n, MPI_INTEGER, all, counts, starts, MPI_INTEGER, MPI_COMM_WORLD, error)
    call check(all_in_order(all), 'allgatherv')
    own = 0
    call MPI_Scatter(all, n, MPI_INTEGER, own, n, MPI_INTEGER, root, MPI_COMM_WORLD, error)
    call check(all_equal(own, me), 'scatter')
    all = [(me, i = 1, n * ranks)]
    call MPI_Alltoall(MPI_IN_PLACE, 0, MPI_INTEGER, all, n, MPI_INTEGER, MPI_COMM_WORLD, error)
    do i = 0, ranks - 1
      call check(all(i * n + 1) == i .and. all(i * n + n) == i, 'alltoall in place')
    end do
  end subroutine moves

  logical function all_equal(own, rank)
    integer, intent(in) :: own(n), rank

    all_equal = all(own == [(rank * 1000 + i, i = 1, n)])
  end function all_equal

  logical function all_in_order(blocks)
    integer, intent(in) :: blocks(n * ranks)
    integer :: rank

    all_in_order = .true.
    do rank = 0, ranks - 1
      all_in_order = all_in_order .and. all_equal(blocks(rank * n + 1 : rank * n + n), rank)
    end do
  end function all_in_order

  subroutine reductions
    double precision :: mine(n), sum(n)
    integer :: whole, part, parts(ranks)

    mine = [(dble(me * i), i = 1, n)]
    call MPI_Allreduce(mine, sum, n, MPI_DOUBLE_PRECISION, MPI_SUM, MPI_COMM_WORLD, error)
    call check(all(sum == [(dble(i * ranks * (ranks - 1) / 2), i = 1, n)]), 'allreduce')
    call MPI_Allreduce(MPI_IN_PLACE, mine, n, MPI_DOUBLE_PRECISION, MPI_MAX, MPI_COMM_WORLD, error)
    call check(all(mine == [(dble((ranks - 1) * i), i = 1, n)]), 'allreduce in place')
    call MPI_Reduce(me, whole, 1, MPI_INTEGER, MPI_SUM, ranks - 1, MPI_COMM_WORLD, error)
    if (me == ranks - 1) call check(whole == ranks * (ranks - 1) / 2, 'reduce')
    call MPI_Scan(me, part, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(part == me * (me + 1) / 2, 'scan')
    call MPI_Exscan(me, part, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    if (me > 0) call check(part == me * (me - 1) / 2, 'exscan')
    parts = [(i * (me + 1), i = 1, ranks)]
    call MPI_Reduce_scatter_block(parts, part, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call check(part == (me + 1) * ranks * (ranks + 1) / 2, 'reduce_scatter_block')
  end subroutine reductions

  subroutine types
    complex :: z
    double complex :: w
    logical :: either, both
    double precision :: pair(2), least(2)
    character(6) :: word
    integer :: grid(3, 4)
    HANDLE(Datatype) :: row

    z = cmplx(me, -me)
    call MPI_Allreduce(MPI_IN_PLACE, z, 1, MPI_COMPLEX, MPI_SUM, MPI_COMM_WORLD, error)
    call check(real(z) == ranks * (ranks - 1) / 2 .and. aimag(z) == -real(z), 'sum of complex numbers')
    w = (0, 1)
    call MPI_Allreduce(MPI_IN_PLACE, w, 1, MPI_DOUBLE_COMPLEX, MPI_PROD, MPI_COMM_WORLD, error)
    call check(w == (0, 1)**ranks, 'product of double complex numbers')
    call MPI_Allreduce(me == 0, either, 1, MPI_LOGICAL, MPI_LOR, MPI_COMM_WORLD, error)
    call MPI_Allreduce(me == 0, both, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    call check(either .and. (both .eqv. ranks == 1), 'or, and')
    pair = [dble(abs(me - 1)), dble(me)]
    call MPI_Allreduce(pair, least, 1, MPI_2DOUBLE_PRECISION, MPI_MINLOC, MPI_COMM_WORLD, error)
    call check(all(least == [dble(max(0, 2 - ranks)), dble(min(1, ranks - 1))]), 'minimum and its place')
    word = 'other '
    if (me == 0) word = 'origin'
    call MPI_Bcast(word, 6, MPI_CHARACTER, 0, MPI_COMM_WORLD, error)
    call check(word == 'origin', 'characters')
    grid = -1
    if (me == 0) grid(2, :) = [1, 2, 3, 4]
    call MPI_Type_vector(4, 1, 3, MPI_INTEGER, row, error)
    call MPI_Type_commit(row, error)
    call MPI_Bcast(grid(2, 1), 1, row, 0, MPI_COMM_WORLD, error)
    call check(all(grid(2, :) == [1, 2, 3, 4]) .and. all(grid(1, :) == -1) .and. all(grid(3, :) == -1), 'a row of an array')
    call MPI_Type_free(row, error)
  end subroutine types

  subroutine requests
    HANDLE(Request) :: request(3)
    integer :: sum, values(n)
    logical :: done
    asynchronous :: sum, values

    do i = 1, n
      values(i) = merge(i, 0, me == 0)
    end do
    call MPI_Iallreduce(me, sum, 1, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, request(1), error)
    call MPI_Ibcast(values, n, MPI_INTEGER, 0, MPI_COMM_WORLD, request(2), error)
    call MPI_Ibarrier(MPI_COMM_WORLD, request(3), error)
    done = .false.
    do while (.not. done)
      call MPI_Test(request(3), done, MPI_STATUS_IGNORE, error)
    end do
    call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, error)
    call check(sum == ranks * (ranks - 1) / 2, 'iallreduce')
    call check(all(values == [(i, i = 1, n)]), 'ibcast')
    call check(request(1) == MPI_REQUEST_NULL .and. request(3) == MPI_REQUEST_NULL, 'requests that have ended')
  end subroutine requests

  subroutine operation
#ifdef F08
    procedure(MPI_User_function) :: larger_digit
#else
    external :: larger_digit
#endif
    HANDLE(Op) :: op
    integer :: best(n)

    best = [(10 * i + mod(me * 7 + 3, 10), i = 1, n)]
    call MPI_Op_create(larger_digit, .true., op, error)
    call MPI_Allreduce(MPI_IN_PLACE, best, n, MPI_INTEGER, op, MPI_COMM_WORLD, error)
    call check(all(mod(best, 10) == maxval([(mod(i * 7 + 3, 10), i = 0, ranks - 1)])), 'an operation of the program''s')
    call MPI_Op_free(op, error)
  end subroutine operation

  subroutine shapes
    HANDLE(Comm) :: half
    integer :: rank, size, sum

    call MPI_Comm_split(MPI_COMM_WORLD, mod(me, 2), -me, half, error)
    call MPI_Comm_rank(half, rank, error)
    call MPI_Comm_size(half, size, error)
    call MPI_Allreduce(rank, sum, 1, MPI_INTEGER, MPI_SUM, half, error)
    call check(sum == size * (size - 1) / 2, 'a communicator of a half')
    call MPI_Comm_free(half, error)
    call check(half == MPI_COMM_NULL, 'a freed communicator')
  end subroutine shapes

end program collectives
