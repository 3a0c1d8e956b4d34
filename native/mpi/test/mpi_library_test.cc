#include "mpi_library.h"

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "test_libraries.h"

namespace cudnn_rnn {
namespace {

std::string library_text;
int library_status = 0;

int TextOfLibrary(char* text, int* length) {
  std::memcpy(text, library_text.data(), library_text.size());
  *length = static_cast<int>(library_text.size());
  return library_status;
}

int TextOfError(int, char* text, int* length) { return TextOfLibrary(text, length); }

TEST_CASE("MpiLibrary::Version returns the first line without its packager") {
  const struct {
    std::string given;
    std::string expected;
  } cases[] = {
      {"MPICH Version:\t4.0.2\nMPICH Release date:\tThu Apr  7 12:34:45 CDT 2022\n", "MPICH Version: 4.0.2"},
      {"Open MPI v4.1.4, package: Debian OpenMPI, ident: 4.1.4, repo rev: v4.1.4, May 26, 2022", "Open MPI v4.1.4"},
      {"Intel(R) MPI Library 2021.9 for Linux* OS\n", "Intel(R) MPI Library 2021.9 for Linux* OS"},
      {"MVAPICH2 Version      :\t2.3.7, ", "MVAPICH2 Version      : 2.3.7"},
      {"", ""},
      {"\nsecond", ""},
      {std::string(8192, 'v'), std::string(8192, 'v')},
  };
  MpiLibrary library;
  library.Get_library_version = TextOfLibrary;
  library_status = 0;
  for (const auto& [given, expected] : cases) {
    library_text = given;
    CHECK(library.Version() == expected);
  }
  library_status = 5;
  CHECK(library.Version() == "of unknown version");
}

TEST_CASE("MpiLibrary::ErrorText returns the library's text, or the number where it has none") {
  MpiLibrary library;
  library.Error_string = TextOfError;
  library_status = 0;
  library_text = "MPI_ERR_COMM: invalid communicator";
  CHECK(library.ErrorText(5) == "MPI_ERR_COMM: invalid communicator");
  // The longest that MPICH writes.
  library_text = std::string(512, 'e');
  CHECK(library.ErrorText(5) == library_text);
  library_status = 1;
  CHECK(library.ErrorText(5) == "status 5");
}

TEST_CASE("OpenMpiLibrary identifies the binary interface and takes its handles") {
  const struct {
    const char* file;
    const char* abi;
    MpiHandle world;
    MpiHandle float32;
    int thread_multiple;
    int shared_type;
    std::uintptr_t in_place;
  } cases[] = {
      {"libmpich_abi.so", "mpich", 0x44000000, 0x4c00040a, 3, 1, UINTPTR_MAX},
      {"libstandard_abi.so", "standard", 0x101, 0x210, 4096, 221, 1},
  };
  for (const auto& each : cases) {
    CAPTURE(each.file);
    MpiLibrary library;
    std::vector<std::string> attempts;
    REQUIRE(OpenMpiLibrary({TestLibrary(each.file)}, &library, &attempts));
    CHECK(attempts.empty());
    CHECK(library.name == TestLibrary(each.file));
    CHECK(std::string(library.abi) == each.abi);
    CHECK(library.constants.world == each.world);
    CHECK(library.constants.float32 == each.float32);
    CHECK(library.constants.thread_multiple == each.thread_multiple);
    CHECK(library.constants.shared_type == each.shared_type);
    CHECK(reinterpret_cast<std::uintptr_t>(library.constants.in_place) == each.in_place);
    CHECK(library.Version() == "In-process MPI 1.0");
  }
}

TEST_CASE("OpenMpiLibrary takes the addresses of Open MPI's objects as handles") {
  const std::string path = TestLibrary("libopen_mpi_abi.so");
  MpiLibrary library;
  std::vector<std::string> attempts;
  REQUIRE(OpenMpiLibrary({path}, &library, &attempts));
  CHECK(std::string(library.abi) == "open-mpi");
  const auto address = [&](const char* name) { return reinterpret_cast<MpiHandle>(Exported(path, name)); };
  const MpiConstants& c = library.constants;
  CHECK(c.world == address("ompi_mpi_comm_world"));
  CHECK(c.float32 == address("ompi_mpi_float"));
  CHECK(c.float64 == address("ompi_mpi_double"));
  CHECK(c.int32 == address("ompi_mpi_int32_t"));
  CHECK(c.int64 == address("ompi_mpi_int64_t"));
  CHECK(c.byte == address("ompi_mpi_byte"));
  CHECK(c.sum == address("ompi_mpi_op_sum"));
  CHECK(c.min == address("ompi_mpi_op_min"));
  CHECK(c.max == address("ompi_mpi_op_max"));
  CHECK(c.errors_return == address("ompi_mpi_errors_return"));
  CHECK(c.info_null == address("ompi_mpi_info_null"));
}

TEST_CASE("OpenMpiLibrary tries the names in order and states why each one is refused") {
  const std::string missing = TestLibrary("libmissing.so");
  const std::string incomplete = TestLibrary("libincomplete_mpi.so");
  const std::string unknown = TestLibrary("libunknown_abi.so");
  const std::string good = TestLibrary("libmpich_abi.so");
  MpiLibrary library;
  std::vector<std::string> attempts;
  REQUIRE(OpenMpiLibrary({missing, incomplete, unknown, good, TestLibrary("libstandard_abi.so")}, &library, &attempts));
  CHECK(library.name == good);
  REQUIRE(attempts.size() == 3);
  // The loader's text begins with the file.
  CHECK(attempts[0].find(missing) == 0);
  CHECK(attempts[1] == incomplete + ": it has no MPI_Iprobe");
  CHECK(attempts[2] == unknown + ": its binary interface is not known");
}

TEST_CASE("OpenMpiLibrary leaves its result as it was where no name is an MPI") {
  MpiLibrary library;
  library.name = "before";
  std::vector<std::string> attempts;
  CHECK(!OpenMpiLibrary({}, &library, &attempts));
  CHECK(attempts.empty());
  CHECK(!OpenMpiLibrary({TestLibrary("libincomplete_mpi.so"), "libc.so.6"}, &library, &attempts));
  CHECK(attempts.size() == 2);
  CHECK(attempts[1] == "libc.so.6: it has no MPI_Initialized");
  CHECK(library.name == "before");
  const bool is_bound = library.Initialized != nullptr;
  CHECK(!is_bound);
}

}  // namespace
}  // namespace cudnn_rnn
