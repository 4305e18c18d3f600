"""What a model comes to by arithmetic on its configuration: stacks, parameters, operations, a matched width.

Without torch, so that a configuration is matched when it is composed, and a row described, in milliseconds.
`model` builds its stacks from the same `layout`; that what is counted here is what is built is tested.
"""
