mod run_folders;
