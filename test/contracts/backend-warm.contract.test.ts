// Backends that stay up between turns.
import { holdBackends, holdWhatStaysUp } from './backend.suite.ts'

holdBackends('warm')
holdWhatStaysUp()
