package qlearn

// paper is the rule as the paper has it. It does not say how many episodes: here
// until epsilon is 0.01, which takes 46,030, or for large jobs until 12 million
// assignments, which bring 1,000 maps on 100 nodes near to the best.
func paper() Rule {
	return Rule{
		Alpha: 0.1, Gamma: 0.95, Epsilon: 1, Decay: 0.999, DecayEvery: 10,
		Episodes: 50_000, MinEpsilon: 0.01, Steps: 12_000_000,
	}
}
