// How long tests wait for an event that must happen. HEDDLE_TEST_PATIENCE multiplies it (1 if
// unset): a bound for hangs, which no machine is slow enough to reach.
const factor = Number(process.env.HEDDLE_TEST_PATIENCE ?? 1);

/// Returns the time in milliseconds, multiplied.
export const patient = (seconds) => seconds * 1000 * (factor > 0 ? factor : 1);
