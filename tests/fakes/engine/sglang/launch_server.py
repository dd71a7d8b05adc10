"""`python -m sglang.launch_server`: the fake server behind the real command line."""

from fake_sglang import main

if __name__ == "__main__":
    main()
