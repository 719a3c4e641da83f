// The one source that holds Asio's own code; every other one is compiled with
// BOOST_ASIO_SEPARATE_COMPILATION.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
