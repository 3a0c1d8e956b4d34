// The time of MPI_Allreduce without JavaScript: mpirun -n 2 all_reduce ROUNDS BYTES…
// Rank 0 prints the medians in milliseconds as JSON, { "<bytes>": <milliseconds> }.
#include <mpi.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int count, char** arguments) {
  MPI_Init(&count, &arguments);
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int rounds = count > 1 ? std::atoi(arguments[1]) : 20;
  if (rank == 0) std::printf("{");
  for (int k = 2; k < count; k++) {
    const int elements = std::atoi(arguments[k]) / 4;
    std::vector<float> data(static_cast<std::size_t>(elements), 1e-20F);
    std::vector<double> times;
    for (int round = -2; round < rounds; round++) {
      MPI_Barrier(MPI_COMM_WORLD);
      const double begin = MPI_Wtime();
      MPI_Allreduce(MPI_IN_PLACE, data.data(), elements, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
      if (round >= 0) times.push_back((MPI_Wtime() - begin) * 1000);
    }
    std::sort(times.begin(), times.end());
    if (rank == 0) std::printf("%s\"%s\": %.6f", k > 2 ? ", " : "", arguments[k], times[times.size() / 2]);
  }
  if (rank == 0) std::printf("}\n");
  return MPI_Finalize();
}
