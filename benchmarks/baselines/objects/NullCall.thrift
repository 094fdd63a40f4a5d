// A call without an argument and without a result.
service NullCall {
  void call()
}
